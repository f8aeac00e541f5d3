//! Tests of the topic parser with lines of all kinds.

use super::*;

/// R-DEB-41: a topic of any kind becomes a phrase that fits into a sentence.
#[test]
fn a_line_becomes_a_phrase() {
    for (line, expected) in [
        ("Should AI be regulated?", "regulating AI"),
        ("Should AI be heavily regulated?", "heavily regulating AI"),
        ("Should voting be mandatory?", "making voting mandatory"),
        ("Should we abolish zoos?", "abolishing zoos"),
        ("Shouldn't we tax sugar?", "taxing sugar"),
        ("Should children under 13 be allowed to use social media?", "allowing children under 13 to use social media"),
        ("Should the government ban smoking in public parks?", "having the government ban smoking in public parks"),
        ("AI should be regulated.", "regulating AI"),
        ("Is it right to eat meat?", "eating meat"),
        ("Is it wrong to eat meat?", "the view that eating meat is wrong"),
        ("Is it fair for schools to ban phones?", "having schools ban phones"),
        ("Is nuclear energy safe?", "the view that nuclear energy is safe"),
        ("Is AI a threat to humanity?", "the view that AI is a threat to humanity"),
        ("Is there life on Mars?", "the view that there is life on Mars"),
        ("Are cats better than dogs?", "choosing cats over dogs"),
        ("Does money buy happiness?", "the view that money buys happiness"),
        ("Do violent games cause violence?", "the view that violent games cause violence"),
        ("Will robots take our jobs?", "the view that robots will take our jobs"),
        ("Has feminism gone too far?", "the view that feminism has gone too far"),
        ("Money can't buy happiness", "the view that money can't buy happiness"),
        ("Art is subjective", "the view that art is subjective"),
        ("How should cities deal with cars?", "finding a way for cities to deal with cars"),
        ("How can we stop climate change?", "finding a way to stop climate change"),
        ("How do vaccines work?", "knowing how vaccines work"),
        ("Should animals be used for testing?", "using animals for testing"),
        ("Should billionaires exist?", "the view that billionaires should exist"),
        ("Should I quit my job?", "quitting your job"),
        ("Can war ever be just?", "the view that war can sometimes be just"),
        ("Did the Romans invent concrete?", "the view that the Romans did invent concrete"),
        ("Video games cause violence", "the view that video games cause violence"),
        ("Is AI art real art?", "the view that AI art is real art"),
        ("Climate change", "fighting climate change"),
        ("Sollten Städte autofrei sein?", "the idea behind “Sollten Städte autofrei sein?”"),
        ("¿Por qué?", "the idea behind “¿Por qué?”"),
        ("How to fix democracy", "finding a way to fix democracy"),
        ("Why do people lie?", "knowing why people lie"),
        ("Who should pay for college?", "settling who should pay for college"),
        ("What is consciousness?", "defining consciousness"),
        ("What is the best programming language?", "finding the best programming language"),
        ("Remote work", "remote work"),
        ("Ban cars in cities", "banning cars in cities"),
        ("Tabs vs. spaces", "choosing tabs over spaces"),
        ("Cats or dogs?", "choosing cats over dogs"),
        ("To be or not to be", "the idea behind “To be or not to be”"),
        ("Why?", "settling the question “Why?”"),
        ("東京オリンピック", "the idea behind “東京オリンピック”"),
        ("🍕🍕🍕", "the idea behind “🍕🍕🍕”"),
        ("Tax the rich! Or not? (Really)", "the idea behind “Tax the rich! Or not? Really”"),
    ] {
        assert_eq!(Topic::parse(line).noun_phrase, expected, "{line}");
    }
}

/// R-DEB-41: a topic has a shorter form with its own number for later use.
#[test]
fn topics_have_a_short_form() {
    for (line, expected) in [
        ("Cats are better than dogs", ("cats", true)),
        ("Basic income vs. income tax", ("basic income", false)),
        ("Should the government ban smoking in parks?", ("banning smoking in parks", false)),
        ("Should schools not require uniforms?", ("not requiring uniforms", false)),
        ("How should cities deal with cars?", ("dealing with cars", false)),
        ("Remote work", ("remote work", false)),
        ("Should robots pay taxes?", ("having robots pay taxes", false)),
        ("Should the rich pay more tax?", ("having the rich pay more tax", false)),
        ("Should parents post photos of their children?", ("having parents post photos of their children", false)),
    ] {
        let short = Topic::parse(line).short_form();
        assert_eq!((short.noun_phrase.as_str(), short.is_plural), expected, "{line}");
    }
}

/// R-DEB-41: a long line is quoted in part, cut at a word boundary.
#[test]
fn a_long_line_is_shortened() {
    let topic = Topic::parse(&"Should every city of the world consider this? ".repeat(10));
    assert!(topic.noun_phrase.chars().count() < 120 && topic.noun_phrase.ends_with("…”"), "{}", topic.noun_phrase);
}

/// R-DEB-41: a line keeps its own subject, on the side of the question.
#[test]
fn topics_keep_their_subject_and_side() {
    check(&[
        ("Should people with children pay less tax?", "having people with children pay less tax"),
        ("Was the moon landing faked?", "the view that the moon landing was faked"),
        ("Is the death of newspapers bad for democracy?", "the view that the death of newspapers is bad for democracy"),
        ("Is pineapple on pizza acceptable?", "the view that pineapple on pizza is acceptable"),
        ("We need a four-day week", "a four-day week"),
        ("I want a shorter school year", "a shorter school year"),
        ("My neighbour's dog should be leashed", "leashing your neighbour's dog"),
        ("Let's abolish homework", "abolishing homework"),
        ("Let us ban cars from the city centre", "banning cars from the city centre"),
        (
            "If robots do all the work, would people be happier?",
            "the view that people would be happier if robots do all the work",
        ),
        ("Is AI a threat or an opportunity?", "the view that AI is an opportunity rather than a threat"),
    ]);
}

/// R-DEB-41: the subject of a question ends before its verb or adjective.
#[test]
fn questions_are_converted() {
    check(&[
        ("Should drug use be legal?", "making drug use legal"),
        ("Should there be a maximum wage?", "a maximum wage"),
        ("Should we be afraid of AI?", "being afraid of AI"),
        ("Should politicians be honest?", "the view that politicians should be honest"),
        ("Should guns be banned or restricted?", "banning rather than restricting guns"),
        (
            "Should the cost of dental care be covered by the state?",
            "the view that the cost of dental care should be covered by the state",
        ),
        ("Should we all be vegetarians?", "being vegetarians"),
        ("Should AI Be Regulated?", "regulating AI"),
        ("Is banning a book ever right?", "the view that banning a book is sometimes right"),
        ("Is online dating dead?", "the view that online dating is dead"),
        ("Is social media making us lonely?", "the view that social media is making us lonely"),
        ("Is eating too much sugar dangerous?", "the view that eating too much sugar is dangerous"),
        ("Is the future in our hands?", "the view that the future is in our hands"),
        ("Is the war on drugs over?", "the view that the war on drugs is over"),
        ("Is tea or coffee healthier?", "the view that tea is healthier than coffee"),
        ("Is it better to rent or to buy?", "renting rather than buying"),
        ("Is it true that cats hate water?", "the view that cats hate water"),
        ("Is my job safe?", "the view that your job is safe"),
        ("Was it right to drop the bomb?", "the view that dropping the bomb was right"),
        ("Has the printed book died?", "the view that the printed book has died"),
        ("Does social media help or hurt teenagers?", "the view that social media helps rather than hurts teenagers"),
        ("Does gun control work?", "the view that gun control works"),
        ("Can money buy love?", "the view that money can buy love"),
        (
            "Is it wrong for rich countries to export waste?",
            "the view that it is wrong for rich countries to export waste",
        ),
        ("Should we stop eating meat and start eating insects?", "stopping eating meat and starting eating insects"),
        ("Does anyone need a smartwatch?", "the view that someone needs a smartwatch"),
        ("Won't robots take our jobs?", "the view that robots will take our jobs"),
        ("Shouldn’t we tax sugar?", "taxing sugar"),
        ("Do you think that zoos are cruel?", "the view that zoos are cruel"),
        ("Would you rather be rich or famous?", "being rich rather than famous"),
    ]);
}

/// R-DEB-41: questions with `which`, `what`, `why` and `how` are converted.
#[test]
fn wh_questions_are_converted() {
    check(&[
        ("Which language should I learn?", "settling which language you should learn"),
        ("Which is better: cats or dogs?", "choosing cats over dogs"),
        ("What is wrong with capitalism?", "settling what is wrong with capitalism"),
        ("Why not legalise drugs?", "legalising drugs"),
        ("How about a four-day week?", "a four-day week"),
        ("How do we save the bees?", "finding a way to save the bees"),
        ("Why democracy matters", "knowing why democracy matters"),
    ]);
}

/// R-DEB-41: statements, demands and imperatives are converted, in the second person.
#[test]
fn statements_are_converted() {
    check(&[
        ("I think that school starts too early", "the view that school starts too early"),
        ("I should quit my job", "quitting your job"),
        ("This house would ban zoos", "banning zoos"),
        ("It's time to ban cars", "banning cars"),
        ("Don't eat meat", "not eating meat"),
        ("Guns should be banned or restricted", "banning or restricting guns"),
        ("People who smoke should pay more for health care", "having people who smoke pay more for health care"),
        ("Children should be seen and not heard", "the view that children should be seen and not heard"),
        ("The internet killed the music industry", "the view that the internet killed the music industry"),
        ("Columbus discovered America", "the view that Columbus discovered America"),
        ("Our city needs trees", "the view that our city needs trees"),
        ("Size matters", "the view that size matters"),
        ("Vaccines work", "the view that vaccines work"),
        ("Rome fell", "the view that Rome fell"),
        ("Even if it costs jobs, should we close coal mines?", "closing coal mines even if it costs jobs"),
        ("If we ban cars, cities will thrive", "the view that cities will thrive if we ban cars"),
        ("Living on Mars", "living on Mars"),
    ]);
}

/// R-DEB-41: a line that cannot be parsed is quoted, in a phrase that fits its kind.
#[test]
fn unparsable_lines_are_quoted() {
    check(&[
        ("SHOULD AI BE REGULATED?", "a yes to “SHOULD AI BE REGULATED?”"),
        ("Is \"woke\" culture good?", "a yes to “Is woke culture good?”"),
        ("Do you believe in ghosts?", "a yes to “Do you believe in ghosts?”"),
        (
            "If someone commits murder, should they be executed?",
            "a yes to “If someone commits murder, should they be executed?”",
        ),
        ("What if money did not exist?", "settling the question “What if money did not exist?”"),
        ("How much should teachers earn?", "settling the question “How much should teachers earn?”"),
        ("Brexit: good or bad?", "settling the question “Brexit: good or bad?”"),
        ("Tea, coffee or water?", "settling the question “Tea, coffee or water?”"),
        ("I hate Mondays", "the sentence “I hate Mondays”"),
        ("On liberty", "the idea behind “On liberty”"),
        ("Devrions-nous manger moins de viande ?", "the idea behind “Devrions-nous manger moins de viande ?”"),
        ("Brauchen wir ein Tempolimit?", "the idea behind “Brauchen wir ein Tempolimit?”"),
        ("Hi!", "the idea behind “Hi!”"),
    ]);
}

fn check(rows: &[(&str, &str)]) {
    for (line, expected) in rows {
        let topic = Topic::parse(line);
        assert_eq!(topic.noun_phrase, *expected, "{line}");
        // The noun phrase of a belief contains its statement.
        let is_named = topic
            .belief
            .as_ref()
            .is_none_or(|claim| topic.noun_phrase.ends_with(claim.as_str()) || topic.noun_phrase.contains('“'));
        assert!(is_named, "{line}: {topic:?}");
    }
}

/// R-DEB-41: a quoted yes-or-no question still has a side, and so has a personal sentence.
#[test]
fn quoted_questions_have_a_side() {
    for (line, expected) in [
        ("Do you believe in ghosts?", Some("the answer to “Do you believe in ghosts?” is yes")),
        ("I hate Mondays", Some("there is something to “I hate Mondays”")),
        ("What if money did not exist?", None),
        ("On liberty", None),
    ] {
        assert_eq!(Topic::parse(line).belief.as_deref(), expected, "{line}");
    }
}

/// R-DEB-41: past events and present states, proposals and existing things are distinguished.
#[test]
fn topics_have_tense_and_number() {
    for (line, expected) in [
        ("Was the moon landing faked?", (true, false, false)),
        ("Did aliens build the pyramids?", (true, false, false)),
        ("Columbus discovered America", (true, false, false)),
        ("Is the earth flat?", (false, false, false)),
        ("We want better schools", (false, true, true)),
        ("Should there be limits on free speech?", (false, true, true)),
        ("I want a shorter school year", (false, true, false)),
    ] {
        let topic = Topic::parse(line);
        assert_eq!((topic.is_past, topic.is_change, topic.is_plural), expected, "{line}");
    }
}
