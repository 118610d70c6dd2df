import Foundation
import TortureKit
import Testing

@testable import StrataCommand

/// Sources are edited one by one: what cannot be written is named behind what was.
@Suite struct PortingCommandTests {
  @Test func aFileThatCannotBeWrittenIsNamedAndTheOthersAreReported() throws {
    let folder = try ScratchFolder()
    func write(_ name: String, mode: Int) throws {
      let url = folder.url(name)
      try Data("@objc class A {}\n".utf8).write(to: url)
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path)
    }
    try write("A.swift", mode: 0o644)
    try write("B.swift", mode: 0o444)
    try write("C.swift", mode: 0o644)
    try FileManager.default.createSymbolicLink(
      atPath: folder("Gone.swift"), withDestinationPath: "None.swift")
    let dry = Tool.run("port-core-data", folder.path)
    #expect(dry.code == 0 && dry.output.contains("3 edits in 3 of 3 files to make"), "\(dry)")
    #expect(dry.output.contains("Gone.swift: a link that leads nowhere; left out"), "\(dry)")
    let made = Tool.run("port-core-data", folder.path, "--apply")
    #expect(made.code == 1 && made.output.contains("2 edits in 2 of 3 files made"), "\(made)")
    #expect(made.output.contains("A.swift:1:") && !made.output.contains("B.swift:1:"), "\(made)")
    #expect(made.error.contains("B.swift is write-protected") && !made.error.contains("A.swift"), "\(made)")
    let again = Tool.run("port-core-data", folder.path, "--apply", "--json")
    let told = try again.object()
    #expect(again.code == 1 && (told["notWritten"] as? [String])?.count == 1, "\(again)")
    #expect((told["edits"] as? [String])?.isEmpty == true, "\(again)")
  }

  @Test func filesAreWrittenOrNotWhenItIsStopped() throws {
    let source =
      "@objc class A {}\n" + String(repeating: "// A comment that makes the file longer.\n", count: 2_000)
    let count = 60
    for part in 1...3 {
      let folder = try ScratchFolder()
      for number in 0..<count {
        try Data(source.utf8).write(to: folder.url("File\(number).swift"))
      }
      let before = try names(in: folder)
      let child = try ChildProcess(Tool.program, ["port-core-data", folder.path, "--apply"])
      // Stopped when it has written some files, wherever that meets it.
      let sign = folder("File\(20 + part * 7).swift")
      let size = source.utf8.count
      while fileSize(sign) == size, !child.isGone() { usleep(50) }
      kill(child.identifier, SIGTERM)
      #expect([0, 128 + SIGTERM].contains(child.wait()))
      #expect(try names(in: folder) == before)
      for name in before {
        #expect([size, size - 6].contains(fileSize(folder(name))), "\(name)")
      }
    }
  }

  private func fileSize(_ path: String) -> Int? {
    (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber)?.intValue
  }
}
