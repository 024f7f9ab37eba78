//! What goes over the wire, and the most it can be billed for.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// The method of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    /// `POST`.
    #[default]
    Post,
    /// `PUT`.
    Put,
    /// `GET`.
    Get,
}

/// The most tokens that one attempt can be billed for; `None`: nobody can say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Input: a token has at least one byte.
    pub input: Option<u64>,
    /// Output: what the request itself says, else the most that its model can give.
    pub output: Option<u64>,
    /// The limit of output that the request itself says.
    pub said_output: Option<u64>,
}

/// The very bytes that are sent, made once for all attempts. No credential is in them: that is the
/// sender's, at the last moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire {
    /// How.
    pub method: HttpMethod,
    /// Where, below the account's address.
    pub path: String,
    /// What is appended to the address's own query.
    pub query: Vec<(String, String)>,
    /// Headers of the protocol. Where the account sets one of them itself, the account's is sent.
    pub headers: Vec<(String, String)>,
    /// The JSON body; empty: none is sent.
    pub body: Bytes,
    /// Whether it asks for a stream.
    pub streamed: bool,
    /// The most that one attempt can be billed for.
    pub bounds: Bounds,
}
