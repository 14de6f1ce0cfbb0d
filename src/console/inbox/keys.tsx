const KEYS: readonly [key: string, meaning: string][] = [
  ['J', 'Next request'],
  ['K', 'Previous request'],
  ['Enter', 'Open the request'],
  ['A', 'Approve'],
  ['D', 'Deny'],
  ['E', 'Edit the limits'],
  ['U', 'Back to the inbox'],
  ['?', 'Show or hide these keys'],
];

/** The keys of the inbox and of a decision. The script opens the dialog. */
export function Keys() {
  return (
    <dialog id="keys" aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl>
        {KEYS.map(([key, meaning]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </>
        ))}
      </dl>
      <label class="check">
        <input type="checkbox" data-single-keys checked />
        <span>Use these keys in this browser</span>
      </label>
      <form method="dialog">
        <button type="submit" class="quiet">
          Close
        </button>
      </form>
    </dialog>
  );
}
