//! Key-agreement parameters of a TLS 1.2 server.

use crate::decode::Reader;
use crate::error::Violation;
use crate::ffdhe::Field;
use crate::registry::Group;
use crate::server_hello::offered;
use crate::settings::Settings;
use crate::wire::Message;

/// Key-agreement parameters.
#[derive(Debug)]
pub(crate) enum Parameters<'a> {
    /// An offered group, by number or prime.
    Named { group: Group, public: &'a [u8] },
    /// A prime field of the server's choice.
    Field { p: &'a [u8], g: &'a [u8], public: &'a [u8] },
}

impl<'a> Parameters<'a> {
    pub(crate) fn read(r: &mut Reader<'a>, settings: &Settings) -> Result<Self, Violation> {
        if settings.suite.has_curve() { named_curve(r, settings) } else { field(r, settings) }
    }
}

/// RFC 8422 §5.4.
fn named_curve<'a>(r: &mut Reader<'a>, settings: &Settings) -> Result<Parameters<'a>, Violation> {
    if r.u8("curve_type")? != 3 {
        let (message, field) = (Message::SERVER_KEY_EXCHANGE, "curve_type");
        return Err(Violation::IllegalParameter { message, field });
    }
    let group = offered(r.u16("named_curve")?, settings)?;
    let public = r.vector(1, "point")?.rest();
    Ok(Parameters::Named { group, public })
}

/// RFC 5246 §7.4.3 and RFC 7919 §3: if named groups were offered, the server must choose one of
/// them.
fn field<'a>(r: &mut Reader<'a>, settings: &Settings) -> Result<Parameters<'a>, Violation> {
    let p = r.vector(2, "dh_p")?.rest();
    let g = r.vector(2, "dh_g")?.rest();
    let public = r.vector(2, "dh_Ys")?.rest();
    match Field::name(p, g) {
        _ if settings.groups.is_empty() => Ok(Parameters::Field { p, g, public }),
        Some(group) if settings.groups.contains(&group) => Ok(Parameters::Named { group, public }),
        Some(group) => Err(Violation::Group { found: group.number() }),
        None => Err(Violation::PrimeUnnamed),
    }
}
