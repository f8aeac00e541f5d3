//! The words of Spanish.

use super::{Words, verb};
use crate::calendar::{Flexibility, Priority};
use crate::models::EventType::{Cancel, Create, Modify, Query};
use crate::parser::Scope;
use crate::parser::sense::{ClockSense, DateSense, LengthSense, RepeatSense, Sense, Unit, Verb, Way};

pub(super) const WORDS: Words = Words {
    name: "Spanish",
    weekdays: WEEKDAYS,
    plurals: PLURALS,
    months: MONTHS,
    numbers: NUMBERS,
    ordinals: ORDINALS,
    units: UNITS,
    articles: &["un", "una", "uno"],
    ands: &["y", ",", "e"],
    day_parts: &[],
    is_month_first: false,
    phrases: PHRASES,
    dates: DATES,
    clocks: CLOCKS,
    lengths: LENGTHS,
    verbs: VERBS,
    nouns: &[],
    negations: &["no"],
    nots: &["no"],
    ambiguous: &["programa", "reserva", "pasa", "lista", "borra"],
    openers: &[
        "cuando", "que", "quien", "quienes", "donde", "cual", "como", "esta", "estan", "hay", "tiene", "tienen", "puede",
        "puedo", "podemos", "tenemos", "estoy", "es", "cuanto",
    ],
    polite: &["puedes", "podrias", "por", "favor", "hola", "podemos", "puedo"],
    availability: &["libre", "libres", "disponible", "disponibles", "ocupado", "ocupada", "ocupados"],
    conflict: &["conflicto", "conflictos", "choca", "chocan", "coincide", "cabe", "posible", "solapa"],
    clashes: &["conflicto", "conflictos"],
    everyone: &["todos", "todo el mundo", "toda la familia"],
    kids: &["ninos", "hijos", "ninas", "hijas"],
    parents: &["los padres"],
    me: &["yo", "mi", "mis", "tengo", "necesito", "conmigo", "recuerdame"],
    we: &["nosotros", "tenemos", "necesitamos", "nos"],
    telling: &["dime", "muestrame"],
    outsiders: &[
        "abuela", "abuelo", "abuelos", "tia", "tio", "tios", "primo", "prima", "primos", "entrenador", "profesor",
        "profesora", "amigo", "amigos", "amiga", "vecinos", "senor", "senora", "doctor", "doctora", "ninera", "jefe",
    ],
    before_people: &["para", "con", "y", ",", ":", "de", "a"],
    before_things: &["con", "en", "usar", "necesito", "necesita", "necesitamos", "para", "y"],
    the: &["el", "la", "los", "las", "un", "una", "nuestro", "nuestra"],
    things: &["bicicleta", "furgoneta", "garaje", "proyector", "moto", "barco", "parrilla", "portatil", "remolque"],
    targets: &["a", "al", "para", "ahora", "hasta"],
    instead_of: &["en vez de", "en lugar de", "no"],
    loose: &["cada", "excepto", "salvo"],
    zone_words: &["hora"],
    stops: &[
        "el", "la", "los", "las", "un", "una", "de", "del", "al", "a", "en", "con", "para", "por", "y", "es", "son", "esta",
        "hay", "tiene", "tienen", "tengo", "tenemos", "necesito", "necesita", "mi", "mis", "nuestro", "nuestra", "que",
        "favor", "yo", "nos", "se", "lo", "su", "calendario", "cita para", "o", "pero", "ahora", "cuando", "como", "hacia",
        "puedes", "podrias",
    ],
    vague: &["cosa", "cosas", "algo", "eso", "todo", "planes", "pasa", "hoy", "que"],
    common: &["cita", "clase", "clases", "partido", "reunion", "leccion", "entrenamiento", "night"],
    same: SAME,
    morning: &["desayuno"],
    evening: &["cena", "fiesta", "cine"],
};

/// What events are called in English, so that a calendar may be in either.
const SAME: &[(&str, &str)] = &[
    ("dentista", "dentist"), ("futbol", "soccer"), ("natacion", "swimming"), ("medico", "doctor"), ("doctora", "doctor"),
    ("escuela", "school"), ("colegio", "school"), ("cumpleanos", "birthday"), ("abuela", "grandma"),
    ("peluqueria", "haircut"), ("peluquero", "haircut"), ("compras", "shopping"), ("compra", "shopping"),
    ("trabajo", "work"), ("partido", "game"), ("entrenamiento", "practice"), ("cena", "dinner"), ("aceite", "oil"),
    ("clase", "lesson"), ("oculista", "eye"),
];

const WEEKDAYS: &[(&str, i8)] = &[
    ("lunes", 1), ("martes", 2), ("miercoles", 3), ("jueves", 4), ("viernes", 5), ("sabado", 6), ("domingo", 7),
];

const PLURALS: &[(&str, i8)] = &[("sabados", 6), ("domingos", 7)];

const MONTHS: &[(&str, i8)] = &[
    ("enero", 1), ("febrero", 2), ("marzo", 3), ("abril", 4), ("mayo", 5), ("junio", 6), ("julio", 7), ("agosto", 8),
    ("septiembre", 9), ("setiembre", 9), ("octubre", 10), ("noviembre", 11), ("diciembre", 12),
];

const NUMBERS: &[(&str, u32)] = &[
    ("una", 1), ("dos", 2), ("tres", 3), ("cuatro", 4), ("cinco", 5), ("seis", 6), ("siete", 7), ("ocho", 8),
    ("nueve", 9), ("diez", 10), ("once", 11), ("doce", 12), ("quince", 15), ("veinte", 20), ("treinta", 30),
    ("noventa", 90),
];

const ORDINALS: &[(&str, i8)] = &[
    ("primer", 1), ("primero", 1), ("segundo", 2), ("tercer", 3), ("tercero", 3), ("cuarto", 4),
];

const UNITS: &[(&str, Unit)] = &[
    ("minuto", Unit::Minute), ("minutos", Unit::Minute), ("min", Unit::Minute), ("hora", Unit::Hour),
    ("horas", Unit::Hour), ("h", Unit::Hour), ("dia", Unit::Day), ("dias", Unit::Day), ("semana", Unit::Week),
    ("semanas", Unit::Week), ("mes", Unit::Month), ("meses", Unit::Month), ("ano", Unit::Year), ("anos", Unit::Year),
];

const PHRASES: &[(&str, Sense)] = &[
    ("del {nth} al {nth} de {month}", Sense::DayRange),
    ("[el|al|del|para|desde|este] [el] {date}", Sense::Date),
    ("del|desde [el] {date} al|hasta [el] {date}", Sense::DateRange),
    ("despues de|del [el] {date}", Sense::DateAfter),
    ("a partir de|del [el] {date}", Sense::DateOn),
    ("[el|para] {date} por|en la manana", Sense::DatePart(6, 12)),
    ("[el|para] {date} por|en la tarde", Sense::DatePart(12, 20)),
    ("[el|para] {date} por|en la noche", Sense::DatePart(19, 23)),
    ("esta tarde", Sense::TodayPart(12, 20)),
    ("esta noche", Sense::TodayPart(19, 23)),
    ("de|por|en la manana", Sense::Part(6, 12)),
    ("de|por|en la tarde", Sense::Part(12, 20)),
    ("de|por|en la noche", Sense::Part(19, 23)),
    ("a la|las {t}", Sense::At),
    ("sobre las {t}", Sense::At),
    ("al {clock}", Sense::At),
    ("{clock}", Sense::At),
    ("de|desde [las|la] {t} a|hasta [las|la] {t}", Sense::Range),
    ("entre las|la {t} y las|la {t}", Sense::Range),
    ("hasta las|la {t}", Sense::Until),
    ("despues de las|la {t}", Sense::After),
    ("antes de las|la {t}", Sense::Before),
    ("todo el dia", Sense::AllDay),
    ("durante|por|de {dur}", Sense::Length),
    ("{dur}", Sense::Length),
    ("{dur} mas tarde", Sense::Later),
    ("{dur} despues", Sense::Later),
    ("{dur} antes", Sense::Earlier),
    ("{dur} mas temprano", Sense::Earlier),
    ("cada {days}", Sense::Repeat(RepeatSense::Days(1))),
    ("cada manana", Sense::RepeatPart(6, 12)),
    ("todas las mananas", Sense::RepeatPart(6, 12)),
    ("cada tarde", Sense::RepeatPart(12, 20)),
    ("todas las tardes", Sense::RepeatPart(12, 20)),
    ("todas las noches", Sense::RepeatPart(19, 23)),
    ("todos los {days}", Sense::Repeat(RepeatSense::Days(1))),
    ("los {days}", Sense::Repeat(RepeatSense::Days(1))),
    ("cada dos {days}", Sense::Repeat(RepeatSense::Days(2))),
    ("un {days} si y otro no", Sense::Repeat(RepeatSense::Days(2))),
    ("cada primer {weekday}", Sense::Repeat(RepeatSense::Place(1))),
    ("cada ultimo {weekday}", Sense::Repeat(RepeatSense::Place(-1))),
    ("cada {nth} {weekday}", Sense::Unclear),
    ("todos los dias menos|excepto|salvo [el|los] {days}", Sense::Repeat(RepeatSense::Except)),
    ("cada dia", Sense::Repeat(RepeatSense::Every(1, Unit::Day))),
    ("todos los dias", Sense::Repeat(RepeatSense::Every(1, Unit::Day))),
    ("cada semana", Sense::Repeat(RepeatSense::Every(1, Unit::Week))),
    ("todas las semanas", Sense::Repeat(RepeatSense::Every(1, Unit::Week))),
    ("cada mes", Sense::Repeat(RepeatSense::Every(1, Unit::Month))),
    ("todos los meses", Sense::Repeat(RepeatSense::Every(1, Unit::Month))),
    ("cada ano", Sense::Repeat(RepeatSense::Every(1, Unit::Year))),
    ("cada {n} {unit}", Sense::Repeat(RepeatSense::EveryFew)),
    ("entre semana", Sense::Repeat(RepeatSense::Workdays)),
    ("todos los fines de semana", Sense::Repeat(RepeatSense::Weekends)),
    ("el {nth} de cada mes", Sense::Repeat(RepeatSense::MonthDay)),
    ("el {nth} {weekday} de cada|del mes", Sense::Repeat(RepeatSense::NthWeekday)),
    ("el ultimo {weekday} de cada|del mes", Sense::Repeat(RepeatSense::Place(-1))),
    ("{n} veces", Sense::Times),
    ("hasta [el] {date}", Sense::UntilDate),
    ("hasta {month}", Sense::UntilMonth),
    ("hasta [el] final|finales de {month}", Sense::UntilMonthEnd),
    ("critico|emergencia", Sense::Matters(Priority::Critical)),
    ("[muy] importante|urgente", Sense::Matters(Priority::High)),
    ("no [muy] importante|urgente", Sense::Matters(Priority::Low)),
    ("no se puede mover", Sense::Moves(Flexibility::Fixed)),
    ("preferiblemente", Sense::Moves(Flexibility::Preferred)),
    ("si es posible", Sense::Moves(Flexibility::Preferred)),
    ("flexible", Sense::Moves(Flexibility::Flexible)),
    ("a partir de ahora", Sense::Which(Scope::Following)),
    ("toda la serie", Sense::Which(Scope::All)),
    ("todas las|los", Sense::Which(Scope::All)),
    ("solo esta vez", Sense::Which(Scope::This)),
    ("por favor", Sense::Filler),
    ("en|del el|al calendario", Sense::Filler),
    ("a la misma hora", Sense::Filler),
];

const DATES: &[(&str, DateSense)] = &[
    ("hoy", DateSense::Offset(0)),
    ("manana", DateSense::Offset(1)),
    ("pasado manana", DateSense::Offset(2)),
    ("ayer", DateSense::Offset(-1)),
    ("{weekday}", DateSense::Weekday),
    ("este {weekday}", DateSense::ThisWeekday),
    ("proximo {weekday}", DateSense::NextWeekday),
    ("{weekday} que viene", DateSense::NextWeekday),
    ("{weekday} de la proxima semana", DateSense::NextWeekday),
    ("{weekday} pasado", DateSense::LastWeekday),
    ("[este] fin de semana", DateSense::Weekend(0)),
    ("proximo fin de semana", DateSense::Weekend(1)),
    ("fin de semana que viene", DateSense::Weekend(1)),
    ("esta semana", DateSense::Week(0)),
    ("[la] proxima semana", DateSense::Week(1)),
    ("[la] semana que viene", DateSense::Week(1)),
    ("este mes", DateSense::Month(0)),
    ("[el] proximo mes", DateSense::Month(1)),
    ("en|dentro [de] {amount} {unit}", DateSense::Ahead),
    ("{nth} de {month}", DateSense::DayMonth),
    ("{nth} de {month} de|del {year}", DateSense::DayMonth),
    ("dia {nth}", DateSense::Nth),
    ("en {month}", DateSense::InMonth),
    ("{digits}", DateSense::Digits),
];

const CLOCKS: &[(&str, ClockSense)] = &[
    ("{time} [h|horas]", ClockSense::Open),
    ("{n} y media", ClockSense::Past(30)),
    ("{n} y cuarto", ClockSense::Past(15)),
    ("{n} menos cuarto", ClockSense::To(15)),
    ("{n} en punto", ClockSense::Open),
    ("{n} am", ClockSense::Am),
    ("{n} pm", ClockSense::Pm),
    ("mediodia", ClockSense::Noon),
    ("medianoche", ClockSense::Midnight),
    ("despues de la escuela|clase", ClockSense::Named("after school")),
    ("despues de clase|clases", ClockSense::Named("after school")),
    ("despues del cole|colegio", ClockSense::Named("after school")),
];

const LENGTHS: &[(&str, LengthSense)] = &[
    ("{amount} {unit}", LengthSense::Plain),
    ("media hora", LengthSense::Minutes(30)),
    ("un cuarto de hora", LengthSense::Minutes(15)),
    ("una hora y media", LengthSense::Minutes(90)),
    ("{amount} {unit} y media", LengthSense::AndHalf),
    ("{amount} {unit} [y] {amount} {unit}", LengthSense::Both),
];

const VERBS: &[Verb] = &[
    verb("cancela|cancelar|cancelado|cancelada|borra|borrar|elimina|eliminar|quita|quitar|anula|anular|suspende", Cancel, Way::Plain),
    verb("no hay|habra", Cancel, Way::Plain),
    verb("mueve|mover|cambia|cambiar|pasa|pasar|reprograma|reprogramar|modifica|actualiza", Modify, Way::Plain),
    verb("retrasa|retrasar|aplaza|aplazar|pospon|posponer|atrasa", Modify, Way::Later),
    verb("adelanta|adelantar", Modify, Way::Earlier),
    verb("alarga|extiende", Modify, Way::Longer),
    verb("acorta", Modify, Way::Shorter),
    verb("renombra", Modify, Way::Rename),
    verb("programa|programar|crea|crear|reserva|reservar|planea|planifica|apunta|apuntar|agenda|agendar|organiza|pon", Create, Way::Plain),
    verb("anade|anadir|agrega|agregar", Create, Way::Add),
    verb("recuerda", Create, Way::Plain),
    verb("muestra|muestrame|lista|dime|ensename", Query, Way::Plain),
];
