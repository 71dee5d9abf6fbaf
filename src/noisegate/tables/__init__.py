"""What a table is: dimensions, the public domain, margins, and what a question selects."""

from __future__ import annotations

from noisegate.tables.axis import Axis, Ints, Mask, combine
from noisegate.tables.block import Block
from noisegate.tables.card import (
    CARD,
    Bounding,
    Card,
    CardLoss,
    CardNoise,
    ExampleLoss,
    NestingLeftOut,
    Software,
    StatedDomain,
    StatedError,
    StatedLosses,
    StatedMechanism,
    StatedPayment,
    StatedPrediction,
    StatedQuestion,
    StatedTable,
    find_card,
    read_document,
    stated_payment,
)
from noisegate.tables.dimension import NO_ORDINAL, Dimension, Kind
from noisegate.tables.domain import Domain
from noisegate.tables.margin import Margin
from noisegate.tables.question import Asked, Question
from noisegate.tables.release import Release
from noisegate.tables.selection import Groups, Selection
from noisegate.tables.spelling import DAY_S, clock_of, find_dimension, folded, label_code, listed
from noisegate.tables.stated import state_domain, stated_domain
from noisegate.tables.table import (
    Counts,
    MarginLink,
    Origin,
    Status,
    Table,
    arrow_numbers,
    arrow_texts,
    locate,
)
from noisegate.tables.where import (
    Where,
    alternatives,
    condition_text,
    conditions_of,
    kind_of,
    members,
    shares_of_values,
    spelled_parts,
    split_conditions,
)

__all__ = [
    "CARD",
    "DAY_S",
    "NO_ORDINAL",
    "Asked",
    "Axis",
    "Block",
    "Bounding",
    "Card",
    "CardLoss",
    "CardNoise",
    "Counts",
    "Dimension",
    "Domain",
    "ExampleLoss",
    "Groups",
    "Ints",
    "Kind",
    "Margin",
    "MarginLink",
    "Mask",
    "NestingLeftOut",
    "Origin",
    "Question",
    "Release",
    "Selection",
    "Software",
    "StatedDomain",
    "StatedError",
    "StatedLosses",
    "StatedMechanism",
    "StatedPayment",
    "StatedPrediction",
    "StatedQuestion",
    "StatedTable",
    "Status",
    "Table",
    "Where",
    "alternatives",
    "arrow_numbers",
    "arrow_texts",
    "clock_of",
    "combine",
    "condition_text",
    "conditions_of",
    "find_card",
    "find_dimension",
    "folded",
    "kind_of",
    "label_code",
    "listed",
    "locate",
    "members",
    "read_document",
    "shares_of_values",
    "spelled_parts",
    "split_conditions",
    "state_domain",
    "stated_domain",
    "stated_payment",
]
