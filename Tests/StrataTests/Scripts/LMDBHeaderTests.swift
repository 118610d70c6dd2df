import Foundation
import Testing

/// The header over `<lmdb.h>` compiles with liblmdb 0.9 alone.
struct LMDBHeaderTests {
  @Test(arguments: [("0", "9", true), ("1", "0", false), ("0", "10", false)])
  func otherVersionsDoNotCompile(major: String, minor: String, isAccepted: Bool) throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    try folder.write(
      "#define MDB_VERSION_MAJOR \(major)\n#define MDB_VERSION_MINOR \(minor)\n#define MDB_VERSION_PATCH 3\n",
      to: "lmdb.h")
    let source = try folder.write("#include \"shim.h\"\n", to: "probe.c")
    let result = try Command.run(
      "/usr/bin/env",
      [
        "clang", "-fsyntax-only", "-I", folder.url.path, "-I",
        repository.appendingPathComponent("CLMDBShim").path, source.path,
      ])
    #expect((result.exitCode == 0) == isAccepted, "\(result.errors)")
    if !isAccepted { #expect(result.errors.contains("liblmdb 0.9")) }
  }
}
