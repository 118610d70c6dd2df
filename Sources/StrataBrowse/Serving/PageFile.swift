/// The page and what belongs to it. It is part of the program: no request leads to a file.
struct PageFile {
  let type: String
  let bytes: [UInt8]

  /// What is answered under a name, apart from the page itself, which has the empty one.
  static let others: [String: PageFile] = [
    "icon.svg": PageFile(type: "image/svg+xml", bytes: PackageResources.icon_svg)
  ]

  static func isKnown(_ name: String) -> Bool { name.isEmpty || others.keys.contains(name) }

  /// The page in one piece, so that a browser asks once: scripts and style stand in it where they are named. They are executed since they bear `nonce`, which is
  /// as secret as new.
  static func page(_ nonce: String) -> [UInt8] { Array(pieces.joined(separator: nonce).utf8) }

  /// The page's text between the places of the nonce.
  private static let pieces: [Substring] = {
    var text = String(decoding: PackageResources.page_html, as: UTF8.self)
    let scripts = [
      ("early.js", PackageResources.early_js), ("edits.js", PackageResources.edits_js),
      ("live.js", PackageResources.live_js), ("members.js", PackageResources.members_js),
      ("page.js", PackageResources.page_js),
    ]
    text = insert(PackageResources.page_css, "style", #"<link rel="stylesheet" href="page.css">"#, text)
    for (name, bytes) in scripts {
      text = insert(bytes, "script", #"<script src="\#(name)"></script>"#, text)
    }
    return text.split(separator: mark, omittingEmptySubsequences: false)
  }()

  /// In none of the files.
  private static let mark: Character = "\u{0}"

  private static func insert(_ bytes: [UInt8], _ tag: String, _ place: String, _ text: String) -> String {
    let parts = text.split(separator: place, omittingEmptySubsequences: false)
    precondition(parts.count == 2, "The page has one place for each of its files.")
    return
      "\(parts[0])<\(tag) nonce=\"\(mark)\">\(String(decoding: bytes, as: UTF8.self))</\(tag)>\(parts[1])"
  }
}
