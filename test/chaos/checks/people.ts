import type { Findings } from '../findings.ts';
import type { People } from '../load/people.ts';
import type { Stored } from '../stored.ts';

/** Everybody can sign in, and was never shown but one account. */
export async function checkPeople(findings: Findings, people: People): Promise<void> {
  for (const person of people.all) {
    const status = await people.enter(person);
    findings.check(status === 200, 'single sign-on', () => `${person.name} is answered ${status}`);
    const shown = [...person.accounts];
    findings.check(shown.length === 1, 'single sign-on', () => `${person.name} was shown ${shown.join(' and ')}`);
  }
  const owners = Map.groupBy(
    people.all.flatMap(({ name, accounts }) => [...accounts].map((account) => ({ name, account }))),
    ({ account }) => account,
  );
  for (const [account, names] of owners) {
    const isOne = names.length === 1;
    findings.check(isOne, 'single sign-on', () => `${account} is of ${names.map(({ name }) => name).join(' and ')}`);
  }
}

/** There is one account for each person that ever came, and none that nobody finds. */
export function checkIdentities(findings: Findings, stored: Stored, people: People): void {
  const known = stored.identities().toSorted();
  const shown = people.all.flatMap(({ accounts }) => [...accounts]).toSorted();
  findings.check(
    known.join() === shown.join(),
    'single sign-on',
    () => `${known.length} accounts in the directory, ${shown.length} shown`,
  );
  // Those that an operator makes have an address; a token of the provider tells none.
  const made = stored.count(`select count(*) from accounts where email = ''`);
  findings.check(made === people.all.length, 'single sign-on', () => `${made} accounts of ${people.all.length} people`);
}
