import CLMDBShim

/// A version of liblmdb. Strata works with 0.9: 1.0 has another file format, and neither reads the other's.
struct LMDBVersion: Equatable, CustomStringConvertible {
  var major: Int
  var minor: Int
  var patch: Int

  /// The version whose headers the program was built with.
  static let headers = LMDBVersion(
    major: Int(MDB_VERSION_MAJOR), minor: Int(MDB_VERSION_MINOR), patch: Int(MDB_VERSION_PATCH))

  /// The version that the program runs with.
  ///
  /// The corresponding LMDB function is `mdb_version`.
  static let library: LMDBVersion = {
    var (major, minor, patch): (Int32, Int32, Int32) = (0, 0, 0)
    mdb_version(&major, &minor, &patch)
    return LMDBVersion(major: Int(major), minor: Int(minor), patch: Int(patch))
  }()

  /// In tests, what stands for ``library`` where files are about to be touched.
  @TaskLocal static var standIn: LMDBVersion?

  var description: String { "\(major).\(minor).\(patch)" }

  /// Whether the library is known to refuse a value for a key under which it keeps the record of a keyspace.
  var refusesValuesForRecords: Bool { isSupported && patch >= 24 }

  private var isSupported: Bool { major == 0 && minor == 9 }

  /// Refuses to touch the file at `path` with a library that keeps files of another format, or that is not what the program was built for.
  ///
  /// - Throws: ``StorageError`` `.unsupportedLibrary` that names both versions and the remedy.
  static func require(
    headers: LMDBVersion = headers, library: LMDBVersion = standIn ?? library, path: String
  ) throws {
    if headers.isSupported && library.isSupported { return }
    throw StorageError(
      .unsupportedLibrary, operation: "mdb_version", path: path,
      detail: """
        Strata needs liblmdb 0.9; 1.0 and later keep files of another format, which 0.9 cannot read, and cannot read those of 0.9. The program was \
        built with the headers of liblmdb \(headers) and runs with liblmdb \(library). Nothing was touched. Install liblmdb 0.9 (Debian and \
        Ubuntu: liblmdb-dev of a release that has 0.9; elsewhere: LMDB_0.9.33 from https://git.openldap.org/openldap/openldap, or an older \
        package) and build the program again.
        """)
  }
}
