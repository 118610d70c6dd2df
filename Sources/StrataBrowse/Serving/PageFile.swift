/// The page and what belongs to it. It is part of the program: no request leads to a file.
struct PageFile {
  let type: String
  let bytes: [UInt8]

  /// By the name in the address; the empty one is the page itself.
  static let all: [String: PageFile] = [
    "": PageFile(type: "text/html; charset=utf-8", bytes: PackageResources.page_html),
    "page.css": PageFile(type: "text/css; charset=utf-8", bytes: PackageResources.page_css),
    "page.js": PageFile(type: "text/javascript; charset=utf-8", bytes: PackageResources.page_js),
    "edits.js": PageFile(type: "text/javascript; charset=utf-8", bytes: PackageResources.edits_js),
    "live.js": PageFile(type: "text/javascript; charset=utf-8", bytes: PackageResources.live_js),
    "members.js": PageFile(type: "text/javascript; charset=utf-8", bytes: PackageResources.members_js),
    "icon.svg": PageFile(type: "image/svg+xml", bytes: PackageResources.icon_svg),
  ]
}
