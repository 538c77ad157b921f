"""Reading rows: file formats, the authors' own layouts, Hugging Face sets, and the way from a row to a case."""
