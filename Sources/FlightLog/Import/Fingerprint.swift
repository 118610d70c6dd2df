import Foundation

extension DataFolder {
  /// Tells one table's file from any other: its size, and a digest of all its bytes.
  func fingerprint(of table: String) throws -> String {
    let file = try file(of: table)
    guard let bytes = try? Data(contentsOf: file, options: .mappedIfSafe) else {
      throw FlightLogError("The file \(file.path) may not be read.")
    }
    var digest = Digest()
    digest.add(bytes)
    return "\(bytes.count)-\(digest)"
  }
}
