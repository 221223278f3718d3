/** The path of the command `keyloom`; the environment variable KEYLOOM names another one. */
export function findKeyloom(): string;
