//! Arguments about beliefs. Data only.

use super::{Argument, Aspect, TopicKind};

/// All aspects. The order has no meaning.
pub(super) const ASPECTS: [Aspect; 13] = [
    Aspect {
        name: "the evidence",
        fits: TopicKind::All,
        pro: Argument {
            claim: "Put side by side, the signs that {claim} «point the same way», and it would be odd if that were chance.",
            support: "Independent witnesses are worth more than loud ones.",
            rebuttal: "Signs may “{quote}” because everybody looked in the same direction to begin with.",
        },
        con: Argument {
            claim: "For {it} I have heard examples, but «examples are not a pattern», and a pattern is what would be needed.",
            support: "Anyone can fill a page with cases that happen to fit.",
            rebuttal: "Granted, “{quote}”, yet when they keep coming from every side one is allowed to suspect one.",
        },
    },
    Aspect {
        name: "everyday experience",
        fits: TopicKind::Lasting,
        pro: Argument {
            claim: "Anyone who doubts that {claim} should test it against what they have seen themselves, for «experience is hard to argue away».",
            support: "A theory that contradicts every kitchen table has some explaining to do.",
            rebuttal: "That “{quote}” is true of optical illusions as well, and still the lines are equally long.",
        },
        con: Argument {
            claim: "Part of the charm of {it} is that «we remember what fits» and forget the days when it did not.",
            support: "Memory keeps a scrapbook and no ledger.",
            rebuttal: "Of course “{quote}”, which is a warning to both sides and not an argument for one.",
        },
    },
    Aspect {
        name: "exceptions",
        fits: TopicKind::Lasting,
        pro: Argument {
            claim: "Nobody has to show that {claim} in every single case, since «a rule survives its exceptions».",
            support: "Umbrellas are useful although they turn inside out now and then.",
            rebuttal: "“{quote}” only as long as they stay few, and here they keep queuing up.",
        },
        con: Argument {
            claim: "Whoever looks for cases against {it} may find «one counterexample after another», and each needs its own excuse.",
            support: "A belief that lives on excuses has stopped being tested.",
            rebuttal: "What is presented as “{quote}” turns out, looked at one by one, to be mostly about something else.",
        },
    },
    Aspect {
        name: "what the words mean",
        fits: TopicKind::All,
        pro: Argument {
            claim: "Taken in the ordinary sense of the words, «there is little mystery left»: {claim}.",
            support: "Quarrels often end when people say plainly what they mean.",
            rebuttal: "It is precisely in the ordinary sense that the trouble hides, so to say that “{quote}” is to stop reading too early.",
        },
        con: Argument {
            claim: "Everything about {it} hangs on «a word nobody has defined», and so it can never be caught out.",
            support: "A claim that fits every outcome tells us about none of them.",
            rebuttal: "We get along with “{quote}” all day long, from health to music, and still tell the good from the bad.",
        },
    },
    Aspect {
        name: "cause and effect",
        fits: TopicKind::Lasting,
        pro: Argument {
            claim: "There is a reason why {claim}: «the mechanism is plain to see», step by step.",
            support: "What can be explained is less likely to be a coincidence.",
            rebuttal: "A story in which “{quote}” is still a story, and rival stories are told just as smoothly.",
        },
        con: Argument {
            claim: "Even where the facts look friendly to {it}, «something else may be behind» them.",
            support: "Ice cream and sunburn rise together, and neither causes the other.",
            rebuttal: "One can always say that “{quote}” what we see, but then it should be named, and so far it was not.",
        },
    },
    Aspect {
        name: "history",
        fits: TopicKind::Lasting,
        pro: Argument {
            claim: "Judge by generations and not by headlines, for «the long run tells its story», and as I read it, {claim}.",
            support: "Fashions pass, and what stays deserves a second look.",
            rebuttal: "Saying that “{quote}” sounds grand, but the long run had different people, different means and different worries.",
        },
        con: Argument {
            claim: "The past is a poor witness for {it}, because «earlier ages were just as sure» of things that nobody believes today.",
            support: "Certainty is no guide, or we would still be bleeding patients.",
            rebuttal: "Perhaps “{quote}”, but we have better tools for finding out, and they count for something.",
        },
    },
    Aspect {
        name: "what specialists say",
        fits: TopicKind::All,
        pro: Argument {
            claim: "Let us ask those who spend their working lives on such matters whether {claim}; I expect that «their doubts are about details».",
            support: "Experts can be wrong, but that is not the way to bet.",
            rebuttal: "That “{quote}” is a guess from outside, and inside a profession quarrels often go to the root.",
        },
        con: Argument {
            claim: "Authority is no ground for {it}, since «specialists can be wrong together», and it would not be the first time.",
            support: "Borrowed confidence has to be returned at some point.",
            rebuttal: "Of course “{quote}”, but to bet on that every time is a poor method.",
        },
    },
    Aspect {
        name: "the consequences",
        fits: TopicKind::Lasting,
        pro: Argument {
            claim: "Consider what follows: whoever accepts that {claim} «can act on it today» and check the result.",
            support: "A belief that helps to predict the next step has earned some credit.",
            rebuttal: "That one “{quote}” proves little, for people have acted on horoscopes too.",
        },
        con: Argument {
            claim: "Take {it} at its word and «the conclusions would be strange», which is why its defenders stop well short of them.",
            support: "It is telling when nobody lives by what they say.",
            rebuttal: "Many true things look odd at first, so to say that “{quote}” is a remark about our habits.",
        },
    },
    Aspect {
        name: "simplicity",
        fits: TopicKind::All,
        pro: Argument {
            claim: "That {claim} is to my mind «the simplest account we have», with the fewest extra assumptions.",
            support: "An explanation should not need more repairs than the thing it explains.",
            rebuttal: "“{quote}” may simply be the one that leaves out the awkward parts.",
        },
        con: Argument {
            claim: "The matter is tangled, and {it} is «too neat to be true».",
            support: "Life seldom fits on a poster.",
            rebuttal: "To call something “{quote}” is a feeling about neatness, and many plain statements are plainly right.",
        },
    },
    Aspect {
        name: "the burden of proof",
        fits: TopicKind::All,
        pro: Argument {
            claim: "By now «the doubters owe us something», namely a better account, unless they grant that {claim}.",
            support: "Shrugging is not a theory.",
            rebuttal: "I do not think that “{quote}”, because whoever asserts a thing has to carry it to the door.",
        },
        con: Argument {
            claim: "Whoever defends {it} has to show it, and «so far we got assurances» where reasons were due.",
            support: "What is asserted lightly may be dropped lightly.",
            rebuttal: "That “{quote}” overlooks the reasons given a minute ago, which I am happy to give again in other words.",
        },
    },
    Aspect {
        name: "whose view counts",
        fits: TopicKind::All,
        pro: Argument {
            claim: "If people who differ in nearly everything else can agree that {claim}, «such agreement is rare» and worth something.",
            support: "When rivals nod at the same sentence, it is worth reading twice.",
            rebuttal: "It may be that “{quote}”, but it is also what one gets when only some are invited to the table.",
        },
        con: Argument {
            claim: "From a comfortable chair {it} looks obvious, while «others may see it differently», and some of them live closer to it.",
            support: "Where you stand decides what blocks your sight.",
            rebuttal: "That “{quote}” is worth remembering, and after hearing them one may still find that they are mistaken.",
        },
    },
    Aspect {
        name: "the comparison",
        fits: TopicKind::All,
        pro: Argument {
            claim: "Measured against its rivals, the statement that {claim} does well, for «the opposite explains even less».",
            support: "We choose among answers that exist.",
            rebuttal: "That “{quote}” would only help if there were just two answers, and there are many in between.",
        },
        con: Argument {
            claim: "Nothing forces us to choose between {it} and its opposite, because «the truth may lie between» the two corners.",
            support: "Most quarrels with two sides have a third one that nobody booked.",
            rebuttal: "It is always possible that “{quote}”, but a middle that nobody can describe is no position.",
        },
    },
    Aspect {
        name: "change over time",
        fits: TopicKind::Lasting,
        pro: Argument {
            claim: "Such things get clearer with time, and I expect that «every year adds a piece» to the case that {claim}.",
            support: "A claim that was empty would fade as people look closer.",
            rebuttal: "If “{quote}”, it is strange that the frame has to be enlarged each time to make it fit.",
        },
        con: Argument {
            claim: "What once spoke for {it} need not count any more, since «the world has moved on» in the meantime.",
            support: "Old maps are beautiful and lead into rivers.",
            rebuttal: "Certainly “{quote}”, but somebody would have to say in which respect, and how that changes the answer.",
        },
    },
];
