// What tests run inside the page, as text: the page's own code is of another project.

/** Set before anything of the page runs: what runs, and what its policy refuses, is written down. */
export const watchForScripts = `
  globalThis.seen = [];
  globalThis.pwned = () => void seen.push('a payload ran');
  document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) => {
    seen.push('refused by the policy: ' + violatedDirective + ' ' + blockedURI + ' ' + sample);
  });`;

/** Elements and attributes that no text may ever become. */
export const foreignElements = String.raw`
  [...document.querySelectorAll('*')].flatMap((element) => {
    const tag = element.tagName.toLowerCase();
    const strange = ['iframe', 'object', 'embed', 'base', 'video', 'audio', 'template', 'math', 'style', 'foreignobject'];
    const isAllowed = {
      href: /^(?:#|\/|https?:\/\/|mailto:)/u,
      src: /^(?:\/assets\/|blob:|data:image\/(?:png|jpeg|gif|webp);base64,)/u,
      style: /^(?!.*url\()/isu,
    };
    return [
      ...(strange.includes(tag) ? [tag] : []),
      ...(tag === 'script' && !element.hasAttribute('src') ? ['inline script'] : []),
      ...[...element.attributes].flatMap(({ name, value }) =>
        /^on|^srcdoc$|^formaction$|^http-equiv$/iu.test(name) || isAllowed[name]?.test(value) === false
          ? [tag + ' ' + name + '=' + value]
          : [],
      ),
    ];
  })`;
