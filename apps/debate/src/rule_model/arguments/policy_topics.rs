//! Arguments about things and proposals. Data only.

use super::{Argument, Aspect, TopicKind};

/// All aspects. The order has no meaning.
pub(super) const ASPECTS: [Aspect; 21] = [
    Aspect {
        name: "the benefits",
        fits: TopicKind::All,
        pro: Argument {
            claim: "The strongest reason for {it} is «a plain gain in everyday life» that people notice without being told.",
            support: "Gains that show up on an ordinary Tuesday are the ones that last.",
            rebuttal: "“{quote}” is easy to promise, and much harder to find once somebody counts who gained and who only hoped to.",
        },
        con: Argument {
            claim: "Whatever {it} [promises|promise], «most of the gain goes to a few» and the rest is told to be patient.",
            support: "A benefit that most people never meet is a slogan.",
            rebuttal: "If “{quote}” today, that is where nearly every improvement stood before it reached everybody else.",
        },
    },
    Aspect {
        name: "the cost",
        fits: TopicKind::All,
        pro: Argument {
            claim: "Yes, {it} [costs|cost] something, but «doing without costs more every year», only nobody sends a bill for it.",
            support: "A price that is never written down is still paid by someone.",
            rebuttal: "That “{quote}” is a guess dressed up as accounting, because the bill for acting is certain and the bill for waiting is not.",
        },
        con: Argument {
            claim: "Anyone in favour of {it} should name a figure, because «the bill comes due long before» the first good result.",
            support: "Money, time and attention that go in here are missing somewhere else.",
            rebuttal: "Of course “{quote}” anything pays off, which is equally true of planting a tree or training a nurse.",
        },
    },
    Aspect {
        name: "precedent",
        fits: TopicKind::Change,
        pro: Argument {
            claim: "What is new always frightens somebody, and of {it} too I expect that «the first fears will fade» wherever people gain some practice.",
            support: "What looks daring in a debate tends to look ordinary ten years later.",
            rebuttal: "Saying that “{quote}” remembers the changes that went well and forgets the ones that were quietly buried.",
        },
        con: Argument {
            claim: "History is full of plans that were sold like {it}, and «the confident forecasts aged badly» in many of them.",
            support: "Nobody who made them had to clean up afterwards.",
            rebuttal: "It is fair that “{quote}”, and just as fair that the gloomy forecasts of the same years aged no better.",
        },
    },
    Aspect {
        name: "incentives",
        fits: TopicKind::All,
        pro: Argument {
            claim: "What I like about {it} is that «people are rewarded for doing well», so nobody has to be a hero for {them} to work.",
            support: "Arrangements that rely on saints run out of them quickly.",
            rebuttal: "As soon as “{quote}”, people also learn to look as if they did well, which is cheaper.",
        },
        con: Argument {
            claim: "Look at who gains from {it}: «the rewards point the wrong way», and people follow rewards rather than speeches.",
            support: "Good intentions have never outlasted a bad bonus.",
            rebuttal: "Where “{quote}”, the sensible thing is to turn them round, which is a repair and no reason to give up.",
        },
    },
    Aspect {
        name: "fairness",
        fits: TopicKind::All,
        pro: Argument {
            claim: "For me this is a matter of fairness, since {it} can give a voice to «those who were left out» so far.",
            support: "A rule is judged best from the seat with the worst view.",
            rebuttal: "Speaking for “{quote}” is honourable, but they are seldom the ones who get to decide how it is done.",
        },
        con: Argument {
            claim: "What I miss in {it} is fairness, because «the burden falls on people» who were never asked.",
            support: "It is cheap to be generous with the patience of others.",
            rebuttal: "If “{quote}” who were not asked, then let us ask them and share the burden, instead of dropping the matter.",
        },
    },
    Aspect {
        name: "feasibility",
        fits: TopicKind::Change,
        pro: Argument {
            claim: "None of this is out of reach: {it} can begin with «small steps that already work» and grow from there.",
            support: "Perfect plans have a way of never leaving the drawer.",
            rebuttal: "I grant that there are “{quote}”, yet a ladder that holds one person says little about a crowd.",
        },
        con: Argument {
            claim: "Between the idea of {it} and the real thing lies «a long list of practical hurdles» that {their} friends wave away.",
            support: "Somebody has to do the work on a Monday morning, with the staff there is.",
            rebuttal: "There may well be “{quote}”, but a list is exactly what one needs in order to work through it.",
        },
    },
    Aspect {
        name: "side effects",
        fits: TopicKind::All,
        pro: Argument {
            claim: "Besides {their} main purpose, {it} would bring «welcome effects on the side» that nobody had to plan.",
            support: "People who start to look after one thing tend to look after the next.",
            rebuttal: "Effects do come on the side, but calling them “{quote}” before they have arrived is wishful thinking.",
        },
        con: Argument {
            claim: "My worry about {it} is less the aim than «the effects that nobody ordered», which arrive later and stay longer.",
            support: "Every clever measure teaches someone a clever way round it.",
            rebuttal: "One should watch for “{quote}”, and one can, because whoever watches early can correct early.",
        },
    },
    Aspect {
        name: "the alternatives",
        fits: TopicKind::Change,
        pro: Argument {
            claim: "Compared with the other options on the table, {it} [comes|come] out ahead, because «the alternatives look weaker still» once they are worked out.",
            support: "Doing nothing is an option too, and it has a record.",
            rebuttal: "That “{quote}” shows at best that nobody has worked them out with the same care.",
        },
        con: Argument {
            claim: "Before we settle on {it}, we should admit that «simpler means are still unused», and they are easier to take back.",
            support: "The first tool in the box is rarely the heaviest one.",
            rebuttal: "If “{quote}”, one may wonder why, and the usual answer is that they were too weak to be worth the effort.",
        },
    },
    Aspect {
        name: "freedom of choice",
        fits: TopicKind::All,
        pro: Argument {
            claim: "I see {it} as a gain in freedom, because «more real choices are open» to people than before.",
            support: "A freedom that only exists on paper is not much of one.",
            rebuttal: "Where “{quote}” to some, others find that the choice was made for them.",
        },
        con: Argument {
            claim: "Free people should be wary of {it}, since «a choice once taken away» does not come back by itself.",
            support: "It is always the next restriction that was never intended.",
            rebuttal: "I take “{quote}” seriously, but the lack of any decision takes choices away as well, only without a signature.",
        },
    },
    Aspect {
        name: "trust",
        fits: TopicKind::Change,
        pro: Argument {
            claim: "Handled in the open, {it} can build trust, for «people accept what they can see» and examine.",
            support: "Suspicion grows best in closed rooms.",
            rebuttal: "It is true that “{quote}”, but most of what matters here happens where nobody looks.",
        },
        con: Argument {
            claim: "Who would be in charge of {it}, and why should we believe them, when «trust has been used up» by earlier promises?",
            support: "Confidence is lent in small sums, and the account is empty.",
            rebuttal: "If “{quote}”, it is earned back by keeping one promise after another, and somewhere one has to begin.",
        },
    },
    Aspect {
        name: "scale",
        fits: TopicKind::All,
        pro: Argument {
            claim: "With every person who joins in, {it} [gains|gain] in effect, so «each one makes it easier» for the next.",
            support: "The first telephone was useless, and the second one changed that.",
            rebuttal: "That “{quote}” holds until the crowd is too large, and then each one makes it harder.",
        },
        con: Argument {
            claim: "On a small stage {it} may look charming, yet «what works for a village» can fail in a city.",
            support: "Size changes the problem and not only its dimensions.",
            rebuttal: "Nobody has to copy “{quote}” without a change, since growing means adapting at every step.",
        },
    },
    Aspect {
        name: "timing",
        fits: TopicKind::Change,
        pro: Argument {
            claim: "With {it}, waiting is a decision as well, and «the best moment passes quietly» while we go on talking.",
            support: "Those who come late find that others have set the terms.",
            rebuttal: "That “{quote}” is what every salesman says shortly before the offer ends.",
        },
        con: Argument {
            claim: "For {it} the calendar is wrong: «we still know too little» to commit ourselves.",
            support: "A year of looking closely is cheaper than ten of being stuck.",
            rebuttal: "That “{quote}” was said in every decade, and knowledge comes mostly to those who begin.",
        },
    },
    Aspect {
        name: "responsibility",
        fits: TopicKind::Change,
        pro: Argument {
            claim: "The reason for {it} is that «somebody would finally be answerable», where today everyone points at everyone else.",
            support: "A duty with a name on it gets done.",
            rebuttal: "I doubt that “{quote}”, because a duty that is shared widely enough belongs to no one.",
        },
        con: Argument {
            claim: "Suppose {it} [goes|go] wrong: «nobody would have to answer» for the damage.",
            support: "Applause finds an owner at once, and blame stays an orphan.",
            rebuttal: "That “{quote}” is a good reason to write down who does, and then to go ahead.",
        },
    },
    Aspect {
        name: "habit",
        fits: TopicKind::Change,
        pro: Argument {
            claim: "Much of the resistance to {it} is custom, and «habits change faster than expected» once there is something to gain.",
            support: "Hardly anyone asks for the old way back after the second year.",
            rebuttal: "Perhaps “{quote}”, but calling a doubt a habit does not answer it.",
        },
        con: Argument {
            claim: "People can arrange their lives without {it}, and «customs hold more wisdom» than a drawing board.",
            support: "A fence that has stood for years usually kept something in or out.",
            rebuttal: "Some “{quote}” than we think, and others merely outlived their reason, so each has to be looked at.",
        },
    },
    Aspect {
        name: "what experience can teach",
        fits: TopicKind::Change,
        pro: Argument {
            claim: "We would learn from {it}, since «one honest trial teaches more» than a hundred opinions.",
            support: "Whoever is wrong after a trial is at least wrong in a useful way.",
            rebuttal: "That “{quote}” assumes somebody is willing to call the trial a failure, and such people are rarely appointed.",
        },
        con: Argument {
            claim: "Ask for hard results of {it} and you hear anecdotes, because «success is measured by its friends».",
            support: "A yardstick in the hands of the seller is always long enough.",
            rebuttal: "If “{quote}”, then let its critics hold the yardstick next time, I would welcome that.",
        },
    },
    Aspect {
        name: "whether it can be undone",
        fits: TopicKind::Change,
        pro: Argument {
            claim: "Should we be mistaken about {it}, «the way back stays open», and that makes the risk bearable.",
            support: "A step that can be corrected deserves less fear than one that cannot.",
            rebuttal: "I would love to believe that “{quote}”, but people, contracts and budgets settle in and do not move out again.",
        },
        con: Argument {
            claim: "What frightens me about {it} is that «there is no easy return» after the first years.",
            support: "Doors that close behind you should be opened with care.",
            rebuttal: "Hardly anything worth doing comes with a guarantee, and “{quote}” is equally true of standing still.",
        },
    },
    Aspect {
        name: "the experience of others",
        fits: TopicKind::Custom,
        pro: Argument {
            claim: "Ask those who know {it} from close by, and I expect that «few of them would go back».",
            support: "People vote most honestly with their own time.",
            rebuttal: "That “{quote}” is to be expected, since those who did are no longer in the room to be asked.",
        },
        con: Argument {
            claim: "Ask around about {it} and you may hear that «many quietly gave up» after a while.",
            support: "Disappointment makes less noise than enthusiasm.",
            rebuttal: "That “{quote}” is true of piano lessons as well, and nobody blames the piano.",
        },
    },
    Aspect {
        name: "moderation",
        fits: TopicKind::Custom,
        pro: Argument {
            claim: "With {it}, as with salt, the dose decides, and «a sense of measure can be learned».",
            support: "What is harmful in heaps is often welcome by the spoon.",
            rebuttal: "It would be nice if “{quote}”, but measure is the first thing to go when something is easy and everywhere.",
        },
        con: Argument {
            claim: "Now and then {it} may be harmless, yet «it never stays at now and then».",
            support: "The second helping is always easier to justify than the first.",
            rebuttal: "To say “{quote}” is to trust people with nothing, and most of them handle temptation every day before lunch.",
        },
    },
    Aspect {
        name: "tradition",
        fits: TopicKind::Custom,
        pro: Argument {
            claim: "Little survives by accident, and that goes for {it} as well: «whatever lasts has its reasons».",
            support: "Time is a strict examiner and cannot be bribed.",
            rebuttal: "Perhaps “{quote}”, but laziness and fear are reasons too.",
        },
        con: Argument {
            claim: "That people are used to {it} proves little, because «bad habits are old too».",
            support: "Being familiar is not the same as being right.",
            rebuttal: "True enough, “{quote}”, and yet most of the truly bad ones have been dropped along the way.",
        },
    },
    Aspect {
        name: "the example it sets",
        fits: TopicKind::Custom,
        pro: Argument {
            claim: "There is something infectious about {it}: «good examples find imitators» without any campaign.",
            support: "People copy their neighbours long before they read a leaflet.",
            rebuttal: "If “{quote}”, so do poor ones, and nobody has shown yet which kind this is.",
        },
        con: Argument {
            claim: "What worries me about {it} is the example, because «the young copy what they see» and skip the fine print.",
            support: "A habit is easier to pass on than its reasons.",
            rebuttal: "If “{quote}”, they also see how adults weigh things up, so let us do it well in front of them.",
        },
    },
    Aspect {
        name: "how much is known",
        fits: TopicKind::Custom,
        pro: Argument {
            claim: "We know more about {it} than about most things we quarrel over, and «the surprises lie behind us».",
            support: "An old acquaintance deserves less suspicion than a stranger.",
            rebuttal: "Everyone who was ever surprised had just announced that “{quote}”.",
        },
        con: Argument {
            claim: "We talk about {it} as if everything were known, while «the long-term effects are unclear» to this day.",
            support: "Being at home with a thing is not the same as knowing it.",
            rebuttal: "If “{quote}” after so long, they can hardly be as dramatic as they are painted.",
        },
    },
];
