/** Explains why the log shows no entries with some sequences. Sequences have no gaps by themselves. */
export function Gap({ first, last }: { first: number; last: number }) {
  const isOne = first === last;
  return (
    <p class="soft">
      {isOne ? `Entry #${first} was erased` : `Entries #${first} to #${last} were erased`}: deleting an agent erases its
      entries, and so does the end of the time for which the plan keeps them.{' '}
      {isOne ? 'Its hash stays' : 'Their hashes stay'} in the log, so that the other entries can still be verified.
    </p>
  );
}
