// Loaded before a program: sends its requests for https addresses to the server at SERVED_BY, which
// a test runs.
const original = globalThis.fetch;

globalThis.fetch = (input, options) => {
  const url = new URL(String(input));
  if (url.protocol !== 'https:') return original(input, options);
  return original(
    `${process.env.SERVED_BY}/served/${url.host}${url.pathname}${url.search}`,
    options,
  );
};
