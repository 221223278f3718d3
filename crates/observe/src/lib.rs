//! What happens in a composite-key database, watched in bounded memory.
