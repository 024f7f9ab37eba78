//! What both sides of compression agree on: the level, and how a frame begins.

/// The level of zstd.
pub(super) const LEVEL: i32 = 6;

/// Whether the bytes begin as a zstd frame does (RFC 8878, 3.1.1): then no dictionary's name.
pub(super) fn is_frame(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x28, 0xB5, 0x2F, 0xFD])
}
