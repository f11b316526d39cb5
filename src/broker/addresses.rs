//! Which addresses are of the public Internet. Refused is everything that IANA's registries
//! of special-purpose addresses do not call globally reachable, everything that carries
//! another address inside, and what a cloud keeps for itself.
//!
//! Sources: <https://www.iana.org/assignments/iana-ipv4-special-registry>,
//! <https://www.iana.org/assignments/iana-ipv6-special-registry>,
//! <https://www.iana.org/assignments/ipv6-address-space>.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// First address, length of the prefix, why.
const REFUSED_V4: &[([u8; 4], u8, &str)] = &[
    ([0, 0, 0, 0], 8, "this network, RFC 791"),
    ([10, 0, 0, 0], 8, "private use, RFC 1918"),
    ([100, 64, 0, 0], 10, "carrier-grade NAT, RFC 6598; Alibaba's metadata at 100.100.100.200"),
    ([127, 0, 0, 0], 8, "loopback, RFC 1122"),
    ([168, 63, 129, 16], 32, "Azure's platform address"),
    ([169, 254, 0, 0], 16, "link-local, RFC 3927; metadata of most clouds"),
    ([172, 16, 0, 0], 12, "private use, RFC 1918"),
    ([192, 0, 0, 0], 24, "IETF protocol assignments, RFC 6890; Oracle's metadata at 192.0.0.192"),
    ([192, 0, 2, 0], 24, "documentation, RFC 5737"),
    ([192, 31, 196, 0], 24, "AS112, RFC 7535"),
    ([192, 52, 193, 0], 24, "AMT, RFC 7450"),
    ([192, 88, 99, 0], 24, "6to4 relays, RFC 7526"),
    ([192, 168, 0, 0], 16, "private use, RFC 1918"),
    ([192, 175, 48, 0], 24, "AS112, RFC 7534"),
    ([198, 18, 0, 0], 15, "benchmarking, RFC 2544"),
    ([198, 51, 100, 0], 24, "documentation, RFC 5737"),
    ([203, 0, 113, 0], 24, "documentation, RFC 5737"),
    ([224, 0, 0, 0], 4, "multicast, RFC 5771"),
    ([240, 0, 0, 0], 4, "reserved and broadcast, RFC 1112"),
];

/// Of IPv6 only 2000::/3 is given out at all. So loopback, unspecified, unique local, link
/// local, site local, multicast, NAT64 (64:ff9b::/96 and 64:ff9b:1::/48) and addresses that
/// are compatible with IPv4 are outside already. Within it:
const REFUSED_V6: &[([u16; 8], u8, &str)] = &[
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, "IETF protocol assignments: Teredo, ORCHID, benchmarking; RFC 2928"),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, "documentation, RFC 3849"),
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, "6to4, RFC 3056"),
    ([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48, "AS112, RFC 7534"),
    ([0x3ffe, 0, 0, 0, 0, 0, 0, 0], 16, "6bone, RFC 3701"),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, "documentation, RFC 9637"),
];

/// Whether an address is of the public Internet.
#[must_use]
pub fn is_public(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => {
            !REFUSED_V4.iter().any(|(net, length, _)| within(ip.into(), Ipv4Addr::from(*net).into(), *length))
        }
        IpAddr::V6(ip) => {
            let given_out = ip.segments()[0] & 0xe000 == 0x2000;
            // ISATAP, RFC 5214: an address of IPv4 after 0:5efe or 200:5efe.
            let isatap = ip.segments()[5] == 0x5efe && ip.segments()[4] & !0x0200 == 0;
            let refused = |(net, length, _): &([u16; 8], u8, &str)| {
                within(ip.into(), Ipv6Addr::from(*net).into(), *length)
            };
            given_out && !isatap && !REFUSED_V6.iter().any(refused)
        }
    }
}

/// Whether `ip` begins with the first `length` bits of `net`.
fn within(ip: IpAddr, net: IpAddr, length: u8) -> bool {
    let same = |a: u128, b: u128, bits: u8| {
        let shift = u32::from(bits.saturating_sub(length));
        a.checked_shr(shift).unwrap_or(0) == b.checked_shr(shift).unwrap_or(0)
    };
    match (ip, net) {
        (IpAddr::V4(a), IpAddr::V4(b)) => same(a.to_bits().into(), b.to_bits().into(), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => length == 0 || same(a.to_bits(), b.to_bits(), 128),
        _ => false,
    }
}

/// Private places that the operator lets scripts reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exceptions(Vec<Exception>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Exception {
    /// A network, one port of it or all.
    Net(IpAddr, u8, Option<u16>),
    /// A name with its port, wherever it leads.
    Name(String, u16),
}

impl Exceptions {
    /// Reads a list with commas: `10.1.2.3:8080`, `[fd00::1]:80`, `10.0.0.0/8`,
    /// `intranet.example:443`.
    pub fn parse(text: &str) -> Result<Self, String> {
        text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(Exception::parse).collect()
    }

    /// Whether `ip`, found under `name`, may be connected to.
    #[must_use]
    pub fn cover(&self, name: Option<&str>, ip: IpAddr, port: u16) -> bool {
        let ip = ip.to_canonical();
        self.0.iter().any(|exception| match exception {
            Exception::Net(net, length, of) => within(ip, *net, *length) && of.is_none_or(|of| of == port),
            Exception::Name(of, its) => name == Some(of.as_str()) && *its == port,
        })
    }
}

impl FromIterator<Exception> for Exceptions {
    fn from_iter<T: IntoIterator<Item = Exception>>(iter: T) -> Self {
        Self(iter.into_iter().collect())
    }
}

impl Exception {
    fn parse(text: &str) -> Result<Self, String> {
        let refused = || format!("expected ip:port, name:port or a network such as 10.0.0.0/8, got {text:?}");
        if let Ok(address) = text.parse::<std::net::SocketAddr>() {
            let ip = address.ip().to_canonical();
            return Ok(Self::Net(ip, if ip.is_ipv4() { 32 } else { 128 }, Some(address.port())));
        }
        if let Some((net, length)) = text.split_once('/') {
            let net: IpAddr = net.parse().map_err(|_| refused())?;
            let most = if net.is_ipv4() { 32 } else { 128 };
            let length = length.parse().ok().filter(|length| *length <= most).ok_or_else(refused)?;
            return Ok(Self::Net(net, length, None));
        }
        let (name, port) = text.rsplit_once(':').ok_or_else(refused)?;
        let port = port.parse().map_err(|_| refused())?;
        match url::Host::parse(name) {
            Ok(url::Host::Domain(name)) => Ok(Self::Name(name, port)),
            Ok(_) | Err(_) => Err(refused()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_of_the_table() {
        for (public, refused) in [
            ("1.0.0.0", "0.255.255.255"),
            ("9.255.255.255", "10.0.0.0"),
            ("11.0.0.0", "10.255.255.255"),
            ("100.63.255.255", "100.64.0.0"),
            ("100.128.0.0", "100.127.255.255"),
            ("168.63.129.17", "168.63.129.16"),
            ("172.15.255.255", "172.16.0.0"),
            ("172.32.0.0", "172.31.255.255"),
            ("192.169.0.0", "192.168.255.255"),
            ("198.17.255.255", "198.18.0.0"),
            ("198.20.0.0", "198.19.255.255"),
            ("223.255.255.255", "224.0.0.0"),
            ("::ffff:8.8.8.8", "::ffff:10.0.0.1"),
            ("2001:4860:4860::8888", "2001::1"),
            ("2001:200::1", "2001:1ff::1"),
            ("2001:db7::1", "2001:db8::1"),
            ("2003::1", "2002:7f00:1::"),
            ("2a00::1", "fd00::1"),
            ("3ffd::1", "4000::1"),
            ("2a00::1:5efe:8.8.8.8", "2a00::5efe:8.8.8.8"),
            ("2a00::2", "64:ff9b::808:808"),
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
            assert!(!is_public(refused.parse().unwrap()), "{refused}");
        }
    }

    #[test]
    fn exceptions_are_as_narrow_as_they_are_written() {
        let these = Exceptions::parse("127.0.0.1:80, 10.0.0.0/8 ,[::1]:81,intra.example:443").unwrap();
        for (name, ip, port, covered) in [
            (None, "127.0.0.1", 80, true),
            (None, "::ffff:127.0.0.1", 80, true),
            (None, "127.0.0.1", 81, false),
            (None, "127.0.0.2", 80, false),
            (None, "10.9.8.7", 1, true),
            (None, "11.0.0.0", 1, false),
            (None, "::1", 81, true),
            (Some("intra.example"), "192.168.0.1", 443, true),
            (Some("intra.example"), "192.168.0.1", 80, false),
            (Some("other.example"), "192.168.0.1", 443, false),
        ] {
            assert_eq!(these.cover(name, ip.parse().unwrap(), port), covered, "{name:?} {ip} {port}");
        }
        for bad in ["127.0.0.1", "10.0.0.0/33", "x", "x:y", "[::1]", "10.0.0.0/-1", "a b:1", "::1/129"] {
            Exceptions::parse(bad).unwrap_err();
        }
        assert!(Exceptions::parse("::/0").unwrap().cover(None, "fe80::1".parse().unwrap(), 1));
        assert!(Exceptions::parse("0.0.0.0/0").unwrap().cover(None, "10.0.0.1".parse().unwrap(), 1));
    }
}
