// Starts Scalar, which is loaded after this file. Nothing here or there is sent to another host.
globalThis.__zod_globalConfig = { jitless: true }; // the page's policy has no `unsafe-eval`

addEventListener("DOMContentLoaded", () => {
  Scalar.createApiReference("#reference", {
    url: "openapi.yaml",
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    showDeveloperTools: "never",
    hideClientButton: true,
    hideTestRequestButton: true,
    defaultOpenAllTags: true,
    defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
    documentDownloadType: "direct",
    orderSchemaPropertiesBy: "preserve",
    customCss: "td code, th code { white-space: nowrap; }",
  });
});
