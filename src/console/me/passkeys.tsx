import { MAX_PASSKEYS, type Passkey } from '../../identity/passkeys/passkey';
import { Section } from '../parts/blocks';
import { TextField } from '../parts/fields';
import { NeedsScript } from '../parts/form';
import { Time, Written } from '../parts/inline';
import { SignInAgain } from '../parts/sign-in-again';

interface PasskeysProps {
  passkeys: readonly Passkey[];
  /** Whether the session is that of a person, and not of a user token. */
  isPerson: boolean;
  /** Whether the member signed in so recently that passkeys may be changed. */
  isRecent: boolean;
  /** Whether the member can also sign in without a passkey. */
  hasOtherSignIn: boolean;
}

/** The member's passkeys. Only the script can add and remove them. */
export function Passkeys({ passkeys, isPerson, isRecent, hasOtherSignIn }: PasskeysProps) {
  const mayRemove = isRecent && (hasOtherSignIn || passkeys.length > 1);
  return (
    <Section name="passkeys" title="Passkeys">
      {passkeys.length === 0 && (
        <p class="soft">You have no passkey. You need one to sign decisions.</p>
      )}
      <ul class="lines">
        {passkeys.map(({ id, name, added_at }) => (
          <li>
            <span>
              <Written text={name} />
              <small>
                added <Time at={added_at} />
              </small>
            </span>
            {mayRemove && (
              <button type="button" class="quiet small" data-remove={`/console/me/passkeys/${id}`}>
                Remove<span class="hidden"> {name}</span>
              </button>
            )}
          </li>
        ))}
      </ul>
      {isRecent && passkeys.length < MAX_PASSKEYS && (
        <div class="inline-form">
          <TextField
            label="Name of a further passkey"
            name="name"
            value={passkeys.length < 2 ? 'Phone or security key' : ''}
            maxlength={100}
            autocomplete="off"
            required
          />
          <button
            type="button"
            class="quiet"
            data-passkey="make"
            data-action="/console/me/passkeys"
          >
            Add a passkey
          </button>
          <NeedsScript />
        </div>
      )}
      {isRecent && !mayRemove && passkeys.length === 1 && (
        <p class="hint">This is your only way to sign in. To replace it, first add another one.</p>
      )}
      {isPerson && <SignInAgain page="/console/me" purpose="To add or remove a passkey" />}
    </Section>
  );
}
