// The X-ray of one request over the whole page.
export const XrayPage = () => <div class="pane-empty" />;
