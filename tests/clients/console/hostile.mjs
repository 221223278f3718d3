export async function hostile() {}
