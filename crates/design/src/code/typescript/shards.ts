// Shards that follow from fields.

/** The hash of calculated shards: 64-bit FNV-1a, finished as in MurmurHash3. */
function stableHash(parts: readonly string[]): bigint {
  const mask = (1n << 64n) - 1n;
  let hash = 0xcbf29ce484222325n;
  for (const part of parts) {
    for (const byte of [...utf8.encode(part), 0xff]) {
      hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & mask;
    }
  }
  hash ^= hash >> 33n;
  hash = (hash * 0xff51afd7ed558ccdn) & mask;
  hash ^= hash >> 33n;
  hash = (hash * 0xc4ceb9fe1a85ec53n) & mask;
  return hash ^ (hash >> 33n);
}

function shardOf(parts: readonly string[], shards: number): number {
  return Number(stableHash(parts) % BigInt(shards));
}
