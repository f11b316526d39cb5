//! Sockets: new ones, and what can be done with old ones.

use std::io;
use std::mem::size_of;
use std::os::fd::AsRawFd;

use super::{Probe, Scene, probe, sys};

fn socket(family: i32, kind: i32) -> io::Result<i64> {
    sys!(libc::SYS_socket, family, kind, 0)
}

fn loopback(port: u16) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_be_bytes([127, 0, 0, 1]).to_be() },
        sin_zero: [0; 8],
    }
}

/// The address and its length. A name that begins with NUL is abstract.
fn unix(name: &[u8]) -> (libc::sockaddr_un, usize) {
    let mut address = libc::sockaddr_un { sun_family: libc::AF_UNIX as u16, sun_path: [0; 108] };
    for (to, from) in address.sun_path.iter_mut().zip(name) {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    (address, size_of::<u16>() + name.len())
}

fn abstract_socket(s: &Scene) -> (libc::sockaddr_un, usize) {
    unix(&[b"\0", s.targets.abstract_name.as_bytes()].concat())
}

fn connect(fd: i64, (address, length): &(libc::sockaddr_un, usize)) -> io::Result<i64> {
    sys!(libc::SYS_connect, fd as i32, address, *length)
}

const ADDRESS: usize = size_of::<libc::sockaddr_in>();

/// A message of one byte, to an address or to the peer.
struct Message {
    byte: libc::iovec,
    header: libc::msghdr,
}

impl Message {
    fn send(s: &Scene, number: libc::c_long) -> io::Result<i64> {
        let mut to = loopback(s.targets.udp);
        let mut message = Self::new();
        message.header.msg_iov = &raw mut message.byte;
        message.header.msg_name = (&raw mut to).cast();
        message.header.msg_namelen = ADDRESS as u32;
        let header = libc::mmsghdr { msg_hdr: message.header, msg_len: 0 };
        // sendmmsg has its count where sendmsg has its flags; MSG_OOB (1) is none of UDP's.
        let third = i32::from(number == libc::SYS_sendmmsg);
        sys!(number, s.udp.as_raw_fd(), &header, third, 0)
    }

    /// A descriptor to the other end of the pair, and the message that takes it out.
    fn pass(s: &Scene, number: libc::c_long, end: usize) -> io::Result<i64> {
        let mut control = Control {
            length: size_of::<Control>() - 4,
            level: libc::SOL_SOCKET,
            kind: libc::SCM_RIGHTS,
            descriptor: s.file.as_raw_fd(),
            padding: 0,
        };
        let mut message = Self::new();
        message.header.msg_iov = &raw mut message.byte;
        message.header.msg_control = (&raw mut control).cast();
        message.header.msg_controllen = size_of::<Control>() as _;
        sys!(number, s.pair[end].as_raw_fd(), &message.header, libc::MSG_DONTWAIT)
    }

    #[expect(unsafe_code, reason = "msghdr has no other beginning")]
    fn new() -> Self {
        let byte = libc::iovec { iov_base: BYTE.as_ptr().cast_mut().cast(), iov_len: 1 };
        // SAFETY: numbers and pointers, for which zero is a value. (musl's has private fields.)
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iovlen = 1;
        Self { byte, header }
    }
}

static BYTE: [u8; 1] = *b"x";

/// `struct cmsghdr` and one descriptor.
#[repr(C)]
struct Control {
    length: usize,
    level: i32,
    kind: i32,
    descriptor: i32,
    padding: i32,
}

pub(super) const PROBES: &[Probe] = &[
    probe("socket-inet", |_| socket(libc::AF_INET, libc::SOCK_STREAM)),
    probe("socket-inet-udp", |_| socket(libc::AF_INET, libc::SOCK_DGRAM)),
    probe("socket-inet6", |_| socket(libc::AF_INET6, libc::SOCK_STREAM)),
    probe("socket-unix", |_| socket(libc::AF_UNIX, libc::SOCK_STREAM)),
    probe("socket-netlink", |_| socket(libc::AF_NETLINK, libc::SOCK_RAW)),
    probe("socket-packet", |_| socket(libc::AF_PACKET, libc::SOCK_RAW)).layered(),
    probe("socket-raw", |_| sys!(libc::SYS_socket, libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP))
        .layered(),
    probe("socket-vsock", |_| socket(libc::AF_VSOCK, libc::SOCK_STREAM)),
    probe("socket-crypto", |_| socket(libc::AF_ALG, libc::SOCK_SEQPACKET)),
    probe("socketpair", |_| sys!(libc::SYS_socketpair, libc::AF_UNIX, libc::SOCK_STREAM, 0, &mut [0_i32; 2])),
    probe("connect", |s| {
        let tcp = socket(libc::AF_INET, libc::SOCK_STREAM)?;
        sys!(libc::SYS_connect, tcp as i32, &loopback(s.targets.tcp), ADDRESS)
    })
    .layered(),
    probe("connect-open-socket", |s| {
        sys!(libc::SYS_connect, s.tcp.as_raw_fd(), &loopback(s.targets.tcp), ADDRESS)
    })
    .layered(),
    probe("connect-unix", |s| {
        let address = unix(s.targets.unix.as_os_str().as_encoded_bytes());
        connect(socket(libc::AF_UNIX, libc::SOCK_STREAM)?, &address)
    }),
    // Landlock refuses this one from its level 9 on.
    probe("connect-unix-open-socket", |s| {
        connect(s.unix.as_raw_fd().into(), &unix(s.targets.unix.as_os_str().as_encoded_bytes()))
    }),
    probe("connect-abstract", |s| connect(socket(libc::AF_UNIX, libc::SOCK_STREAM)?, &abstract_socket(s)))
        .layered(),
    probe("connect-abstract-open-socket", |s| connect(s.unix.as_raw_fd().into(), &abstract_socket(s)))
        .layered(),
    probe("bind", |s| sys!(libc::SYS_bind, s.tcp.as_raw_fd(), &loopback(0), ADDRESS)).layered(),
    probe("bind-unix", |s| {
        let (address, length) = unix(s.path("socket").as_bytes());
        sys!(libc::SYS_bind, s.unix.as_raw_fd(), &address, length)
    })
    .layered(),
    probe("listen", |s| sys!(libc::SYS_listen, s.listener.as_raw_fd(), 9)),
    probe("accept4", |s| sys!(libc::SYS_accept4, s.listener.as_raw_fd(), 0, 0, 0)).judged(&[libc::EAGAIN]),
    probe("sendto", |s| {
        sys!(libc::SYS_sendto, s.udp.as_raw_fd(), &BYTE, 1, 0, &loopback(s.targets.udp), ADDRESS)
    }),
    probe("sendmsg", |s| Message::send(s, libc::SYS_sendmsg)),
    probe("sendmmsg", |s| Message::send(s, libc::SYS_sendmmsg)),
    probe("sendmsg-descriptor", |s| Message::pass(s, libc::SYS_sendmsg, 0)),
    probe("recvmsg-descriptor", |s| Message::pass(s, libc::SYS_recvmsg, 1)).judged(&[libc::EAGAIN]),
    probe("getsockname", |s| {
        sys!(libc::SYS_getsockname, s.listener.as_raw_fd(), &mut loopback(0), &mut (ADDRESS as u32))
    }),
    probe("getsockopt", |s| {
        let mut peer = [0_u32; 3];
        sys!(
            libc::SYS_getsockopt,
            s.pair[0].as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            &mut peer,
            &mut 12_u32
        )
    }),
    probe("setsockopt", |s| {
        sys!(libc::SYS_setsockopt, s.tcp.as_raw_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, &1_i32, 4)
    }),
];
