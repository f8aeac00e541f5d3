//! Maps ATTENDEE and RESOURCES to members and resources of the family.

use calcard::icalendar::ICalendarParameterName as Parameter;

use super::content_line::{escape, quote};
use super::property::Property;
use crate::calendar::{CalendarSnapshot, Member, Participant};

/// Meaning of an ATTENDEE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Attendee {
    /// A member of the family who takes part.
    Member(Participant),
    /// Id of a resource of the family.
    Resource(String),
    /// Not a participant or resource of the family.
    External,
}

/// Resolves an ATTENDEE.
pub(super) fn attendee(property: &Property, snapshot: &CalendarSnapshot) -> Attendee {
    let has_value = |name: &Parameter, values: &[&str]| parameter_is(property, name, values);
    let name = property.parameter(&Parameter::Cn).unwrap_or_default();
    let address = property.value();
    if names_resources(property) {
        let resource_id = resource(&name, snapshot).or_else(|| resource(without_scheme(address), snapshot));
        return resource_id.map_or(Attendee::External, Attendee::Resource);
    }
    if has_value(&Parameter::Partstat, &["DECLINED"]) || has_value(&Parameter::Role, &["NON-PARTICIPANT"]) {
        return Attendee::External;
    }
    let is_required = !has_value(&Parameter::Role, &["OPT-PARTICIPANT"]);
    let member_id = member_by_address(address, snapshot).or_else(|| member_by_name(&name, snapshot));
    member_id.map_or(Attendee::External, |member| Attendee::Member(Participant { member, is_required }))
}

/// Returns true for properties that name resources: RESOURCES, or an ATTENDEE that is a resource or room.
pub(super) fn names_resources(property: &Property) -> bool {
    let is_resource = || parameter_is(property, &Parameter::Cutype, &["RESOURCE", "ROOM"]);
    property.name == "RESOURCES" || property.name == "ATTENDEE" && is_resource()
}

fn parameter_is(property: &Property, name: &Parameter, values: &[&str]) -> bool {
    property.parameter(name).is_some_and(|actual| values.iter().any(|value| value.eq_ignore_ascii_case(&actual)))
}

/// Formats the ATTENDEE line of a member.
pub(super) fn attendee_line(participant: &Participant, snapshot: &CalendarSnapshot) -> String {
    let member = snapshot.members.get(&participant.member);
    let name = member.map_or(&participant.member, |member| &member.name);
    let mail = member.and_then(|member| member.aliases.iter().find(|alias| alias.contains('@')));
    let mail = mail.map(|mail| format!("mailto:{mail}"));
    let mail = mail.filter(|mail| member_by_address(mail, snapshot).as_ref() == Some(&participant.member));
    let address = mail.unwrap_or_else(|| address(&participant.member));
    let role = if participant.is_required { "REQ-PARTICIPANT" } else { "OPT-PARTICIPANT" };
    format!("ATTENDEE;CN={};ROLE={role}:{address}", quote(name))
}

/// Returns a URN for a member without email address. The URN has no meaning outside of the family.
fn address(member: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let letter = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    format!("urn:superstep:member:{}", member.bytes().map(letter).collect::<String>())
}

fn without_scheme(address: &str) -> &str {
    match address.split_at_checked("mailto:".len()) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("mailto:") => rest,
        _ => address,
    }
}

fn member_by_address(text: &str, snapshot: &CalendarSnapshot) -> Option<String> {
    let mail = without_scheme(text);
    let is_mail = mail.contains('@');
    unique_member(snapshot, |member| address(&member.id) == text || is_mail && is_called(member, mail))
}

fn member_by_name(name: &str, snapshot: &CalendarSnapshot) -> Option<String> {
    let has_full_name = |member: &Member| is_same_name(name, &format!("{} {}", member.name, snapshot.family.name));
    unique_member(snapshot, |member| is_called(member, name) || has_full_name(member))
}

/// Returns the id of the only member that matches; `None` if several match.
fn unique_member(snapshot: &CalendarSnapshot, is_match: impl Fn(&Member) -> bool) -> Option<String> {
    let mut matches = snapshot.members.values().filter(|member| is_match(member));
    matches.next().filter(|_| matches.next().is_none()).map(|member| member.id.clone())
}

fn is_called(member: &Member, name: &str) -> bool {
    is_same_name(&member.name, name) || member.aliases.iter().any(|alias| is_same_name(alias, name))
}

fn is_same_name(one: &str, other: &str) -> bool {
    !one.trim().is_empty() && one.trim().to_lowercase() == other.trim().to_lowercase()
}

/// Returns the id of the resource with a name.
pub(super) fn resource(name: &str, snapshot: &CalendarSnapshot) -> Option<String> {
    if snapshot.resources.contains_key(name) {
        return Some(name.to_owned());
    }
    let mut matches = snapshot.resources.values().filter(|resource| {
        is_same_name(&resource.name, name) || resource.aliases.iter().any(|alias| is_same_name(alias, name))
    });
    matches.next().filter(|_| matches.next().is_none()).map(|resource| resource.id.clone())
}

/// Formats the RESOURCES line of the given ids; `None` without ids.
pub(super) fn resources_line(ids: &[&String], snapshot: &CalendarSnapshot) -> Option<String> {
    let label = |id: &&String| {
        let name = snapshot.resources.get(*id).map(|resource| resource.name.as_str());
        // A name that resolves to another resource is replaced by the id.
        escape(name.filter(|name| resource(name, snapshot).as_ref() == Some(*id)).unwrap_or(id))
    };
    let labels: Vec<String> = ids.iter().map(label).collect();
    (!labels.is_empty()).then(|| format!("RESOURCES:{}", labels.join(",")))
}
