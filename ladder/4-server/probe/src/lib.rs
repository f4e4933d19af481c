//! A server by its URL: found, asked for consent, and looked at before it is put under load.
//!
//! A [`Url`] says scheme, host, port and path. [`Site::find`] resolves the host, asks
//! [`Target::admit`](tollgate_load::Target::admit) for each address before anything is sent to it,
//! and takes the first one where somebody listens. From there on only that address is used: a name
//! that resolves otherwise later changes nothing, and redirections are told and never followed.
//!
//! [`Site::probe`] makes some forty connections, one after the other: the load generator's own
//! client tries each suite and group that it knows, and rustls, a complete client, says what it
//! gets: chain, OCSP response, tickets, whether they are good for a second session, and the path's
//! status and length. [`Probe`] has it all, and says what a [`Plan`](tollgate_load::Plan) asks for
//! and the server has not.
//!
//! ```no_run
//! use tollgate_probe::{Site, Url, resolve};
//!
//! let url: Url = "https://localhost:8443/bytes/14336".parse()?;
//! let site = Site::find(&url, None, None, &resolve)?;
//! let probe = site.probe(true)?;
//! println!("{}", probe.lines().join("\n"));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod body;
mod certificate;
mod complete;
mod error;
mod fit;
mod offers;
mod own;
mod probe;
mod shown;
mod site;
mod tell;
mod url;
mod wire;

pub use body::Body;
pub use certificate::Certificate;
pub use complete::Complete;
pub use error::Error;
pub use fit::Unmet;
pub use offers::Offers;
pub use probe::Probe;
pub use shown::Shown;
pub use site::{Resolve, Site, resolve};
pub use url::{BadUrl, Scheme, Url};
