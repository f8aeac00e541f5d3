//! Sentences for every argument: openings, rebuttals of unknown text, citations.

/// Openings of the optimist.
pub(crate) const OPENINGS: [&str; 7] = [
    "I want to make the case for {it}, and I do so with good cheer.",
    "Let me begin with the reasons for {it}, because there are more of them than people think.",
    "When I look at {it}, I see more promise than danger.",
    "There is a good deal to be said for {it}, and little of it is complicated.",
    "My answer is a hopeful one: {it} [deserves|deserve] support.",
    "Allow me to speak up for {it}, calmly and without slogans.",
    "On balance {it} [does|do] more good than harm, and I will try to show why.",
];

/// Openings of the optimist for a belief.
pub(crate) const BELIEF_OPENINGS: [&str; 6] = [
    "I am going to defend {it}, and I think it can be done without tricks.",
    "I will not hedge: {claim}, and the reasons lie closer than one might think.",
    "Let me say it plainly at the start: {claim}.",
    "Critics underrate {it}, and I mean to show why.",
    "I hold that {claim}, and I am happy to be examined on it.",
    "There is a lot to be said for {it}, and I will start where it is easiest to check.",
];

/// Rebuttals of the optimist to text that is not a template.
pub(crate) const OPTIMIST_REBUTTALS: [&str; 10] = [
    "My colleague says “{quote}”, but that is a reason to do it well and no reason to do without.",
    "“{quote}” is a fair warning, and a warning is not a verdict.",
    "I hear “{quote}” and agree with the concern, though not with the conclusion.",
    "To answer “{quote}” we need not lower our hopes, only look closer.",
    "Suppose “{quote}” were right as it stands; it would still leave the larger part of the case untouched.",
    "It was said that “{quote}”, and I would turn that round.",
    "Behind “{quote}” there is a real worry, and it can be met.",
    "I would not dismiss “{quote}”, but it describes the road and not the destination.",
    "“{quote}” deserves an answer, and the answer is that most of it lies in our own hands.",
    "Against “{quote}” I set something that is easy to overlook.",
];

/// Rebuttals of the skeptic to text that is not a template.
pub(crate) const SKEPTIC_REBUTTALS: [&str; 10] = [
    "My colleague says “{quote}”, and I would like to see the small print.",
    "“{quote}” sounds reassuring, which is exactly why it should be examined.",
    "I hear “{quote}”, but a hope that is repeated does not become a result.",
    "Let us stay with “{quote}” for a moment, because it carries more than it can hold.",
    "Suppose “{quote}” were right as it stands; we would still not know at what price.",
    "It was said that “{quote}”, and that is where I part company.",
    "What “{quote}” leaves out is the part that usually goes wrong.",
    "I do not doubt the good will behind “{quote}”, only its arithmetic.",
    "“{quote}” is half of the story, and the other half is less cheerful.",
    "Before we build on “{quote}”, somebody should test the ground.",
];

/// Citations of evidence; `{source}` is the place in the document.
pub(crate) const CITATIONS: [&str; 8] = [
    "The documents at hand say: “{quote}” ({source}).",
    "The documents say: “{quote}” ({source}).",
    "On record is the following: “{quote}” ({source}).",
    "To quote the evidence: “{quote}” ({source}).",
    "Here is something to check: “{quote}” ({source}).",
    "One document says: “{quote}” ({source}).",
    "The evidence states: “{quote}” ({source}).",
    "For the facts I refer to the folder: “{quote}” ({source}).",
];
