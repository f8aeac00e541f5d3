//! Arguments about things and about what may be done. Data only.

use super::{Aspect, Case, Fits};

/// The aspects, in the order in which nobody has to hear them.
pub(super) const ASPECTS: [Aspect; 21] = [
    Aspect {
        name: "the benefits",
        fits: Fits::All,
        pro: Case {
            claim: "The strongest reason for {it} is «a plain gain in everyday life» that people notice without being told.",
            support: "Gains that show up on an ordinary Tuesday are the ones that last.",
            answer: "“{quote}” is easy to promise, and much harder to find once somebody counts who gained and who only hoped to.",
        },
        con: Case {
            claim: "Whatever {it} [promises|promise], «most of the gain goes to a few» and the rest is told to be patient.",
            support: "A benefit that most people never meet is a slogan.",
            answer: "If “{quote}” today, that is where nearly every improvement stood before it reached everybody else.",
        },
    },
    Aspect {
        name: "the cost",
        fits: Fits::All,
        pro: Case {
            claim: "Yes, {it} [costs|cost] something, but «doing without costs more every year», only nobody sends a bill for it.",
            support: "A price that is never written down is still paid by someone.",
            answer: "That “{quote}” is a guess dressed up as accounting, because the bill for acting is certain and the bill for waiting is not.",
        },
        con: Case {
            claim: "Anyone in favour of {it} should name a figure, because «the bill comes due long before» the first good result.",
            support: "Money, time and attention that go in here are missing somewhere else.",
            answer: "Of course “{quote}” anything pays off, which is equally true of planting a tree or training a nurse.",
        },
    },
    Aspect {
        name: "precedent",
        fits: Fits::Change,
        pro: Case {
            claim: "What is new always frightens somebody, and of {it} too I expect that «the first fears will fade» wherever people gain some practice.",
            support: "What looks daring in a debate tends to look ordinary ten years later.",
            answer: "Saying that “{quote}” remembers the changes that went well and forgets the ones that were quietly buried.",
        },
        con: Case {
            claim: "History is full of plans that were sold like {it}, and «the confident forecasts aged badly» in many of them.",
            support: "Nobody who made them had to clean up afterwards.",
            answer: "It is fair that “{quote}”, and just as fair that the gloomy forecasts of the same years aged no better.",
        },
    },
    Aspect {
        name: "incentives",
        fits: Fits::All,
        pro: Case {
            claim: "What I like about {it} is that «people are rewarded for doing well», so nobody has to be a hero for {them} to work.",
            support: "Arrangements that rely on saints run out of them quickly.",
            answer: "As soon as “{quote}”, people also learn to look as if they did well, which is cheaper.",
        },
        con: Case {
            claim: "Look at who gains from {it}: «the rewards point the wrong way», and people follow rewards rather than speeches.",
            support: "Good intentions have never outlasted a bad bonus.",
            answer: "Where “{quote}”, the sensible thing is to turn them round, which is a repair and no reason to give up.",
        },
    },
    Aspect {
        name: "fairness",
        fits: Fits::All,
        pro: Case {
            claim: "For me this is a matter of fairness, since {it} can give a voice to «those who were left out» so far.",
            support: "A rule is judged best from the seat with the worst view.",
            answer: "Speaking for “{quote}” is honourable, but they are seldom the ones who get to decide how it is done.",
        },
        con: Case {
            claim: "What I miss in {it} is fairness, because «the burden falls on people» who were never asked.",
            support: "It is cheap to be generous with the patience of others.",
            answer: "If “{quote}” who were not asked, then let us ask them and share the burden, instead of dropping the matter.",
        },
    },
    Aspect {
        name: "feasibility",
        fits: Fits::Change,
        pro: Case {
            claim: "None of this is out of reach: {it} can begin with «small steps that already work» and grow from there.",
            support: "Perfect plans have a way of never leaving the drawer.",
            answer: "I grant that there are “{quote}”, yet a ladder that holds one person says little about a crowd.",
        },
        con: Case {
            claim: "Between the idea of {it} and the real thing lies «a long list of practical hurdles» that {their} friends wave away.",
            support: "Somebody has to do the work on a Monday morning, with the staff there is.",
            answer: "There may well be “{quote}”, but a list is exactly what one needs in order to work through it.",
        },
    },
    Aspect {
        name: "side effects",
        fits: Fits::All,
        pro: Case {
            claim: "Besides {their} main purpose, {it} would bring «welcome effects on the side» that nobody had to plan.",
            support: "People who start to look after one thing tend to look after the next.",
            answer: "Effects do come on the side, but calling them “{quote}” before they have arrived is wishful thinking.",
        },
        con: Case {
            claim: "My worry about {it} is less the aim than «the effects that nobody ordered», which arrive later and stay longer.",
            support: "Every clever measure teaches someone a clever way round it.",
            answer: "One should watch for “{quote}”, and one can, because whoever watches early can correct early.",
        },
    },
    Aspect {
        name: "the alternatives",
        fits: Fits::Change,
        pro: Case {
            claim: "Compared with the other options on the table, {it} [comes|come] out ahead, because «the alternatives look weaker still» once they are worked out.",
            support: "Doing nothing is an option too, and it has a record.",
            answer: "That “{quote}” shows at best that nobody has worked them out with the same care.",
        },
        con: Case {
            claim: "Before we settle on {it}, we should admit that «simpler means are still unused», and they are easier to take back.",
            support: "The first tool in the box is rarely the heaviest one.",
            answer: "If “{quote}”, one may wonder why, and the usual answer is that they were too weak to be worth the effort.",
        },
    },
    Aspect {
        name: "freedom of choice",
        fits: Fits::All,
        pro: Case {
            claim: "I see {it} as a gain in freedom, because «more real choices are open» to people than before.",
            support: "A freedom that only exists on paper is not much of one.",
            answer: "Where “{quote}” to some, others find that the choice was made for them.",
        },
        con: Case {
            claim: "Free people should be wary of {it}, since «a choice once taken away» does not come back by itself.",
            support: "It is always the next restriction that was never intended.",
            answer: "I take “{quote}” seriously, but the lack of any decision takes choices away as well, only without a signature.",
        },
    },
    Aspect {
        name: "trust",
        fits: Fits::Change,
        pro: Case {
            claim: "Handled in the open, {it} can build trust, for «people accept what they can see» and examine.",
            support: "Suspicion grows best in closed rooms.",
            answer: "It is true that “{quote}”, but most of what matters here happens where nobody looks.",
        },
        con: Case {
            claim: "Who would be in charge of {it}, and why should we believe them, when «trust has been used up» by earlier promises?",
            support: "Confidence is lent in small sums, and the account is empty.",
            answer: "If “{quote}”, it is earned back by keeping one promise after another, and somewhere one has to begin.",
        },
    },
    Aspect {
        name: "scale",
        fits: Fits::All,
        pro: Case {
            claim: "With every person who joins in, {it} [gains|gain] in effect, so «each one makes it easier» for the next.",
            support: "The first telephone was useless, and the second one changed that.",
            answer: "That “{quote}” holds until the crowd is too large, and then each one makes it harder.",
        },
        con: Case {
            claim: "On a small stage {it} may look charming, yet «what works for a village» can fail in a city.",
            support: "Size changes the problem and not only its dimensions.",
            answer: "Nobody has to copy “{quote}” without a change, since growing means adapting at every step.",
        },
    },
    Aspect {
        name: "timing",
        fits: Fits::Change,
        pro: Case {
            claim: "With {it}, waiting is a decision as well, and «the best moment passes quietly» while we go on talking.",
            support: "Those who come late find that others have set the terms.",
            answer: "That “{quote}” is what every salesman says shortly before the offer ends.",
        },
        con: Case {
            claim: "For {it} the calendar is wrong: «we still know too little» to commit ourselves.",
            support: "A year of looking closely is cheaper than ten of being stuck.",
            answer: "That “{quote}” was said in every decade, and knowledge comes mostly to those who begin.",
        },
    },
    Aspect {
        name: "responsibility",
        fits: Fits::Change,
        pro: Case {
            claim: "What speaks for {it} is that «somebody would finally be answerable», where today everyone points at everyone else.",
            support: "A duty with a name on it gets done.",
            answer: "I doubt that “{quote}”, because a duty that is shared widely enough belongs to no one.",
        },
        con: Case {
            claim: "Suppose {it} [goes|go] wrong: «nobody would have to answer» for the damage.",
            support: "Applause finds an owner at once, and blame stays an orphan.",
            answer: "That “{quote}” is a good reason to write down who does, and then to go ahead.",
        },
    },
    Aspect {
        name: "habit",
        fits: Fits::Change,
        pro: Case {
            claim: "Much of the resistance to {it} is custom, and «habits change faster than expected» once there is something to gain.",
            support: "Hardly anyone asks for the old way back after the second year.",
            answer: "Perhaps “{quote}”, but calling a doubt a habit does not answer it.",
        },
        con: Case {
            claim: "People can arrange their lives without {it}, and «customs hold more wisdom» than a drawing board.",
            support: "A fence that has stood for years usually kept something in or out.",
            answer: "Some “{quote}” than we think, and others merely outlived their reason, so each has to be looked at.",
        },
    },
    Aspect {
        name: "what experience can teach",
        fits: Fits::Change,
        pro: Case {
            claim: "We would learn from {it}, since «one honest trial teaches more» than a hundred opinions.",
            support: "Whoever is wrong after a trial is at least wrong in a useful way.",
            answer: "That “{quote}” assumes somebody is willing to call the trial a failure, and such people are rarely appointed.",
        },
        con: Case {
            claim: "Ask for hard results of {it} and you hear anecdotes, because «success is measured by its friends».",
            support: "A yardstick in the hands of the seller is always long enough.",
            answer: "If “{quote}”, then let its critics hold the yardstick next time, I would welcome that.",
        },
    },
    Aspect {
        name: "whether it can be undone",
        fits: Fits::Change,
        pro: Case {
            claim: "Should we be mistaken about {it}, «the way back stays open», and that makes the risk bearable.",
            support: "A step that can be corrected deserves less fear than one that cannot.",
            answer: "I would love to believe that “{quote}”, but people, contracts and budgets settle in and do not move out again.",
        },
        con: Case {
            claim: "What frightens me about {it} is that «there is no easy return» after the first years.",
            support: "Doors that close behind you should be opened with care.",
            answer: "Hardly anything worth doing comes with a guarantee, and “{quote}” is equally true of standing still.",
        },
    },
    Aspect {
        name: "the experience of others",
        fits: Fits::Custom,
        pro: Case {
            claim: "Ask those who know {it} from close by, and I expect that «few of them would go back».",
            support: "People vote most honestly with their own time.",
            answer: "That “{quote}” is to be expected, since those who did are no longer in the room to be asked.",
        },
        con: Case {
            claim: "Ask around about {it} and you may hear that «many quietly gave up» after a while.",
            support: "Disappointment makes less noise than enthusiasm.",
            answer: "That “{quote}” is true of piano lessons as well, and nobody blames the piano.",
        },
    },
    Aspect {
        name: "moderation",
        fits: Fits::Custom,
        pro: Case {
            claim: "With {it}, as with salt, the dose decides, and «a sense of measure can be learned».",
            support: "What is harmful in heaps is often welcome by the spoon.",
            answer: "It would be nice if “{quote}”, but measure is the first thing to go when something is easy and everywhere.",
        },
        con: Case {
            claim: "Now and then {it} may be harmless, yet «it never stays at now and then».",
            support: "The second helping is always easier to justify than the first.",
            answer: "To say “{quote}” is to trust people with nothing, and most of them handle temptation every day before lunch.",
        },
    },
    Aspect {
        name: "tradition",
        fits: Fits::Custom,
        pro: Case {
            claim: "Little survives by accident, and that goes for {it} as well: «whatever lasts has its reasons».",
            support: "Time is a strict examiner and cannot be bribed.",
            answer: "Perhaps “{quote}”, but laziness and fear are reasons too.",
        },
        con: Case {
            claim: "That people are used to {it} proves little, because «bad habits are old too».",
            support: "Being familiar is not the same as being right.",
            answer: "True enough, “{quote}”, and yet most of the truly bad ones have been dropped along the way.",
        },
    },
    Aspect {
        name: "the example it sets",
        fits: Fits::Custom,
        pro: Case {
            claim: "There is something infectious about {it}: «good examples find imitators» without any campaign.",
            support: "People copy their neighbours long before they read a leaflet.",
            answer: "If “{quote}”, so do poor ones, and nobody has shown yet which kind this is.",
        },
        con: Case {
            claim: "What worries me about {it} is the example, because «the young copy what they see» and skip the fine print.",
            support: "A habit is easier to pass on than its reasons.",
            answer: "If “{quote}”, they also see how adults weigh things up, so let us do it well in front of them.",
        },
    },
    Aspect {
        name: "how much is known",
        fits: Fits::Custom,
        pro: Case {
            claim: "We know more about {it} than about most things we quarrel over, and «the surprises lie behind us».",
            support: "An old acquaintance deserves less suspicion than a stranger.",
            answer: "Everyone who was ever surprised had just announced that “{quote}”.",
        },
        con: Case {
            claim: "We talk about {it} as if everything were known, while «the long-term effects are unclear» to this day.",
            support: "Being at home with a thing is not the same as knowing it.",
            answer: "If “{quote}” after so long, they can hardly be as dramatic as they are painted.",
        },
    },
];
