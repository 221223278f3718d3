export async function heat() {}
