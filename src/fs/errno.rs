//! Errors of the file system: exactly those that Linux returns for the same call.

/// An error number. `Display` gives the words that bash and coreutils print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[expect(missing_docs, reason = "the names are errno(3)'s, the words are beside them")]
pub enum Errno {
    #[error("No such file or directory")]
    ENOENT,
    #[error("File exists")]
    EEXIST,
    #[error("Not a directory")]
    ENOTDIR,
    #[error("Is a directory")]
    EISDIR,
    #[error("Directory not empty")]
    ENOTEMPTY,
    #[error("Too many levels of symbolic links")]
    ELOOP,
    #[error("Invalid argument")]
    EINVAL,
    #[error("File name too long")]
    ENAMETOOLONG,
    #[error("File too large")]
    EFBIG,
    #[error("No space left on device")]
    ENOSPC,
    #[error("Read-only file system")]
    EROFS,
    #[error("Operation not permitted")]
    EPERM,
    #[error("Invalid or incomplete multibyte or wide character")]
    EILSEQ,
    #[error("Too many links")]
    EMLINK,
    #[error("Device or resource busy")]
    EBUSY,
    #[error("Cannot allocate memory")]
    ENOMEM,
    /// The working copy was revoked or its contents cannot be fetched: the exec is
    /// being ended, and what the script still prints does not matter.
    #[error("Input/output error")]
    EIO,
}

impl Errno {
    /// The symbolic name, as it stands in error bodies.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ENOENT => "ENOENT",
            Self::EEXIST => "EEXIST",
            Self::ENOTDIR => "ENOTDIR",
            Self::EISDIR => "EISDIR",
            Self::ENOTEMPTY => "ENOTEMPTY",
            Self::ELOOP => "ELOOP",
            Self::EINVAL => "EINVAL",
            Self::ENAMETOOLONG => "ENAMETOOLONG",
            Self::EFBIG => "EFBIG",
            Self::ENOSPC => "ENOSPC",
            Self::EROFS => "EROFS",
            Self::EPERM => "EPERM",
            Self::EILSEQ => "EILSEQ",
            Self::EMLINK => "EMLINK",
            Self::EBUSY => "EBUSY",
            Self::ENOMEM => "ENOMEM",
            Self::EIO => "EIO",
        }
    }
}
