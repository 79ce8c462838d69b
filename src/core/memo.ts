// Values that are computed once for an object and live as long as it does: parsed configuration, imported keys.

/** `make` runs once for each key. A rejected promise is kept too, so `make` must not fail by chance. */
export function memoizeBy<K extends object, V>(make: (key: K) => V): (key: K) => V {
  const made = new WeakMap<K, { value: V }>();
  return (key) => {
    const known = made.get(key) ?? { value: make(key) };
    made.set(key, known);
    return known.value;
  };
}
