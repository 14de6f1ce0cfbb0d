/**
 * Sends a request to the origin of this page, whichever of the service's addresses the document
 * names.
 */
function keepToThisOrigin(request) {
  const { pathname, search } = new URL(request.url, location.origin);
  request.url = location.origin + pathname + search;
  return request;
}

/** Keeps credentials out of what the browser remembers of forms. */
function forgetInputs({ React }) {
  const forgetful = (Input) => (props) =>
    React.createElement(Input, { ...props, autoComplete: 'off' });
  return { wrapComponents: { Input: forgetful } };
}

/** Wears the colours that the reader's system wears. */
function followColourScheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', follow);
  follow();
}

followColourScheme();
SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  persistAuthorization: false,
  plugins: [forgetInputs],
  requestInterceptor: keepToThisOrigin,
  validatorUrl: null,
});
