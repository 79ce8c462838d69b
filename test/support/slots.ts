/** The number of runtimes that live at once. By default vitest leaves one core idle. */
export const SLOTS = 2;
