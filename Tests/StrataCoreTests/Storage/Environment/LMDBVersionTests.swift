import Foundation
import Testing

@testable import StrataCore

/// liblmdb 1.0 has another file format in both directions: it is refused by name before a file is touched.
@Suite struct LMDBVersionTests {
  private func version(_ text: String) -> LMDBVersion {
    let parts = text.split(separator: ".").compactMap { Int($0) }
    return LMDBVersion(major: parts[0], minor: parts[1], patch: parts[2])
  }

  @Test(arguments: [("0.9.24", "0.9.24"), ("0.9.24", "0.9.33"), ("0.9.33", "0.9.11")])
  func patchesMayDiffer(headers: String, library: String) throws {
    try LMDBVersion.require(headers: version(headers), library: version(library), path: "A")
  }

  @Test(arguments: [("0.9.24", "1.0.0"), ("1.0.0", "0.9.24"), ("1.0.0", "1.0.0"), ("0.9.24", "0.10.1")])
  func everythingElseIsRefusedAndBothAreNamed(headers: String, library: String) throws {
    let error = try storageError {
      try LMDBVersion.require(headers: version(headers), library: version(library), path: "A")
    }
    #expect(error.kind == .unsupportedLibrary)
    #expect(error.detail.contains("headers of liblmdb \(headers)"))
    #expect(error.detail.contains("runs with liblmdb \(library)"))
    #expect(error.detail.contains("Install liblmdb 0.9"))
  }

  @Test func theOneThatIsHereIsSupported() throws {
    try LMDBVersion.require(path: "A")
    #expect(LMDBVersion.headers.major == 0 && LMDBVersion.headers.minor == 9)
    #expect(LMDBVersion.library.description.hasPrefix("0.9."))
  }
}
