//! A part of a golden set that one of several machines takes.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Part `number` of `of`, written `3/8`. Whole clusters go to one part, by a hash of the cluster's
/// name alone: neither the order of the cases nor cases added later move a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    number: u32,
    of: u32,
}

impl Shard {
    /// Part `number` (from 1) of `of`; `None` when there is no such part.
    pub fn new(number: u32, of: u32) -> Option<Self> {
        (1..=of).contains(&number).then_some(Self { number, of })
    }

    /// Which part, from 1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// How many parts there are.
    pub fn of(self) -> u32 {
        self.of
    }

    /// Whether the cluster belongs to this part.
    pub fn holds(self, cluster: &str) -> bool {
        let hash = blake3::hash(cluster.as_bytes());
        let head: [u8; 8] = hash.as_bytes()[..8].try_into().expect("a hash has 32 bytes");
        u64::from_le_bytes(head) % u64::from(self.of) == u64::from(self.number - 1)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        parts
            .and_then(|(number, of)| Self::new(number.trim().parse().ok()?, of.trim().parse().ok()?))
            .ok_or_else(|| format!("`{text}` is no shard; write `3/8` for the third of eight"))
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cluster_is_in_exactly_one_part() {
        let parts: Vec<Shard> = (1..=8).filter_map(|number| Shard::new(number, 8)).collect();
        let mut sizes = [0; 8];
        for cluster in 0..8_000 {
            let name = format!("tk-{cluster}");
            let holders: Vec<&Shard> = parts.iter().filter(|part| part.holds(&name)).collect();
            assert_eq!(holders.len(), 1);
            sizes[holders[0].number() as usize - 1] += 1;
        }
        assert!(sizes.iter().all(|size| (850..1_150).contains(size)), "{sizes:?}");
    }

    #[test]
    fn what_is_no_part_is_refused() {
        assert_eq!("3/8".parse(), Ok(Shard { number: 3, of: 8 }));
        for text in ["", "3", "0/8", "9/8", "1/0", "-1/8", "a/b", "1/2/3"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
