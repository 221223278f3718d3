// Messages of Keyloom, in which backticks mark names and keys.
export function Prose({ text }: { text: string }) {
  const parts = text.split("`");
  // An odd backtick belongs to a key or value.
  if (parts.length % 2 === 0) return <span class="text">{text}</span>;
  return <span class="text">{parts.map((part, n) => (n % 2 ? <code key={n}>{part}</code> : part))}</span>;
}
