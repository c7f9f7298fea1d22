"""Which agent fits a query: texts become vectors (`embedder`), agents are ranked by their sample queries (`ranking`).

`minilm`, `openai_embeddings` and `lexical` are the ways to vectors. Knows no Django model;
takes and returns dataclasses and arrays.
"""

import os

# Before numpy is imported. Two texts are embedded at a time anyway; threads of OpenBLAS, which wait for each other by
# spinning, win nothing on matrices of this size, and make a busy machine six times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
