"""The documents that a manifest's `corpora` name: declared, fetched, read, cut into passages, embedded, searched.

`crawl` and `funcs` fetch, `extraction` reads in a process of its own, `chunks` cuts: these know no Django model.
`indexing` does it all in the background, and `rows` keeps what comes of it.
"""
