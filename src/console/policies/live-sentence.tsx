import { readForm } from '../frame/form';
import { loadNames } from '../frame/names';
import { sendPart } from '../frame/page';
import { usePage } from '../frame/page-context';
import { joinElements } from '../parts/inline';
import type { ConsoleContext } from '../session/access';
import { PolicySentence } from './sentence';
import { sketchOf } from './sketch';
import { type PolicyValues, readValues } from './values';

/** Where the sentence is asked for. */
const SOURCE = '/console/policies/sentence';

/**
 * The policy of a form, as a sentence. The script loads it again after each change of the
 * surrounding form; without the script, the buttons that show the form again do.
 */
export function LiveSentence({ values }: { values: PolicyValues }) {
  const { nonce } = usePage();
  return (
    <section
      class="card in-words"
      aria-label="The policy in words"
      tabindex={0}
      hx-nonce={nonce}
      hx-post={SOURCE}
      hx-trigger="input from:'closest form' delay:300ms"
      hx-sync="this:replace"
      hx-swap="innerHTML"
    >
      <Words values={values} />
    </section>
  );
}

function Words({ values }: { values: PolicyValues }) {
  const { policy, isOpen, missing } = sketchOf(values);
  return (
    <>
      <PolicySentence policy={policy} isOpen={isOpen} />
      {missing.length > 0 && (
        <p class="soft">Left out, because it is not complete: {joinElements(missing, ' and ')}.</p>
      )}
    </>
  );
}

/** Answers with the sentence of the form that was sent. Saves nothing. */
export async function sendSentence(c: ConsoleContext): Promise<Response> {
  const values = readValues(await readForm(c));
  const names = await loadNames(c.var.signedIn.context, ['people', 'agents']);
  return sendPart(c, <Words values={values} />, names);
}
