type Key = readonly [key: string, meaning: string];

const TOGGLE: Key = ['?', 'Show or hide these keys'];

/** In the inbox no key decides: one opens the request first. */
const IN_INBOX: Key[] = [
  ['J', 'Next request'],
  ['K', 'Previous request'],
  ['Enter, A or D', 'Open the request, to decide it there, or the group'],
  ['E', 'Open the request to edit its limits'],
  TOGGLE,
];

const ON_REQUEST: Key[] = [
  ['A', 'Approve'],
  ['D', 'Deny'],
  ['E', 'Edit the limits'],
  ['U', 'Back to the inbox'],
  TOGGLE,
];

/** The keys of the inbox, or those of a request. The script opens the dialog. */
export function Keys({ page }: { page: 'inbox' | 'request' }) {
  const keys = page === 'inbox' ? IN_INBOX : ON_REQUEST;
  return (
    <dialog id="keys" aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl>
        {keys.map(([key, meaning]) => (
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
