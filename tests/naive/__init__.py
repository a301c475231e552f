"""The slow, obvious twin of every kernel: no numpy tricks, one row at a time; modules by room."""

from naive.coloring import *
from naive.data import *
from naive.encoding import *
from naive.graph import *
from naive.hashing import *
from naive.learn import *
from naive.synthetic import *
from naive.text import *
from naive.weights import *
