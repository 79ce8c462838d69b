// What is made of an object once and kept as long as the object: parsed configuration, imported keys.

/** `make` runs once for each key; a rejected promise is kept too, so it is for what does not fail by chance. */
export function memoizeBy<K extends object, V>(make: (key: K) => V): (key: K) => V {
  const made = new WeakMap<K, { value: V }>();
  return (key) => {
    const known = made.get(key) ?? { value: make(key) };
    made.set(key, known);
    return known.value;
  };
}
