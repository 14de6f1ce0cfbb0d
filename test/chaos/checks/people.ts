import type { Findings } from '../findings.ts';
import type { People } from '../load/people.ts';
import type { Stored } from '../stored.ts';

/** Checks that everybody can sign in, and always got the same account. */
export async function checkPeople(findings: Findings, people: People): Promise<void> {
  for (const person of people.all) {
    const status = await people.enter(person);
    findings.check(status === 200, 'single sign-on', () => `${person.name} gets ${status}`);
    const shown = [...person.accounts];
    findings.check(
      shown.length === 1,
      'single sign-on',
      () => `${person.name} got the accounts ${shown.join(' and ')}`,
    );
  }
  const owners = Map.groupBy(
    people.all.flatMap(({ name, accounts }) => [...accounts].map((account) => ({ name, account }))),
    ({ account }) => account,
  );
  for (const [account, names] of owners) {
    const isOne = names.length === 1;
    findings.check(
      isOne,
      'single sign-on',
      () => `${account} belongs to ${names.map(({ name }) => name).join(' and ')}`,
    );
  }
}

/** Checks that there is exactly one account for each person who signed in. */
export function checkIdentities(findings: Findings, stored: Stored, people: People): void {
  const known = stored.identities().toSorted();
  const shown = people.all.flatMap(({ accounts }) => [...accounts]).toSorted();
  findings.check(
    known.join() === shown.join(),
    'single sign-on',
    () => `${known.length} accounts in the directory, ${shown.length} shown`,
  );
  // Only accounts of single sign-on have no e-mail address here: the provider's tokens do not
  // contain one.
  const made = stored.count(`select count(*) from accounts where email = ''`);
  findings.check(
    made === people.all.length,
    'single sign-on',
    () => `${made} accounts for ${people.all.length} people`,
  );
}
