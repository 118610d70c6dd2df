/// The names under which stores keep what belongs to indexes and relationships: as names of keyspaces, and as keys, which have room for 511 bytes.
package enum StoredName {
  /// The longest name of an index that is kept as it is: `index:`, `index/` and `added/` come before it.
  private static let longestIndex = 505
  /// The longest name of what has a code.
  private static let longestCoded = 479

  /// The name of an index, of a uniqueness constraint over many attributes too.
  package static func ofIndex(_ name: String) -> String { bounded(name, to: longestIndex) }

  /// The name of a relationship.
  static func ofRelationship(_ name: String) -> String { bounded(name, to: longestCoded) }

  /// `name`, and for one that is too long its beginning and a hash of all of it. The same in all versions: stores find their indexes by it.
  private static func bounded(_ name: String, to length: Int) -> String {
    let bytes = name.utf8
    if bytes.count <= length { return name }
    let hash = SHA256.digest(of: Array(bytes)).prefix(16).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
    var end = bytes.index(bytes.startIndex, offsetBy: length - hash.utf8.count - 1)
    while end.samePosition(in: name.unicodeScalars) == nil { end = bytes.index(before: end) }
    return String(name.unicodeScalars[..<end]) + "~" + hash
  }
}
