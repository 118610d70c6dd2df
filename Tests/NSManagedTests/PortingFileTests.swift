import Foundation
import NSManagedGenerator
import Testing

/// What is read and written where a folder has more than plain files.
@Suite("Files of Core Data code")
struct PortingFileTests {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
    "porting-\(UUID().uuidString)")

  private func inFolder(_ body: () throws -> Void) throws {
    try FileManager.default.createDirectory(
      at: folder.appendingPathComponent("Sources"), withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body()
  }

  private func url(_ name: String) -> URL { folder.appendingPathComponent(name) }
  private func text(_ name: String) throws -> String { try String(contentsOf: url(name), encoding: .utf8) }
  private func write(_ text: String, _ name: String, mode: Int = 0o640) throws {
    try Data(text.utf8).write(to: url(name))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: url(name).path)
  }
  private func link(_ name: String, to path: String) throws {
    try FileManager.default.createSymbolicLink(atPath: url(name).path, withDestinationPath: path)
  }

  @Test("A link stays one; the file that it leads to is written once, and keeps its permissions")
  func links() throws {
    try inFolder {
      try write("@objc class A {}", "Sources/A.swift")
      try write("@objc class B {}", "Outside.txt")
      try link("Sources/0.swift", to: "A.swift")
      try link("Sources/B.swift", to: "../Outside.txt")
      let read = try SourceFolder(url("Sources"))
      #expect(read.files.map(\.url.lastPathComponent) == ["A.swift", "B.swift"])
      for file in read.files { try SourceFolder.apply(file) }
      #expect(try text("Sources/A.swift") == "class A {}" && text("Outside.txt") == "class B {}")
      for name in ["Sources/0.swift", "Sources/B.swift"] {
        let type =
          try FileManager.default.attributesOfItem(atPath: url(name).path)[.type] as? FileAttributeType
        #expect(type == .typeSymbolicLink, "\(name)")
      }
      for name in ["Sources/A.swift", "Outside.txt"] {
        let mode =
          try FileManager.default.attributesOfItem(atPath: url(name).path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o640, "\(name)")
      }
    }
  }

  @Test("Links that lead nowhere or in a circle are named, and nothing else is prevented")
  func danglingLinks() throws {
    try inFolder {
      try write("@objc class A {}", "Sources/A.swift")
      try link("Sources/Gone.swift", to: "None.swift")
      try link("Sources/Round.swift", to: "Round.swift")
      try FileManager.default.createDirectory(
        at: url("Sources/Folder.swift"), withIntermediateDirectories: true)
      let read = try SourceFolder(url("Sources"))
      #expect(read.files.map(\.url.lastPathComponent) == ["A.swift"])
      #expect(read.dangling.map(\.lastPathComponent) == ["Gone.swift", "Round.swift"])
    }
  }

  @Test("A write-protected file is refused by name, and stays as it is")
  func protected() throws {
    try inFolder {
      try write("@objc class A {}", "Sources/A.swift", mode: 0o444)
      let file = try #require(try SourceFolder(url("Sources")).files.first)
      let error = #expect(throws: SourceFolder.FileError.self) { try SourceFolder.apply(file) }
      #expect(error?.description.hasSuffix("A.swift is write-protected; nothing was written to it") == true)
      #expect(try text("Sources/A.swift") == "@objc class A {}")
    }
  }

  @Test("Errors of the system name the file")
  func named() throws {
    try inFolder {
      try write("@objc class A {}", "Sources/A.swift")
      let file = try #require(try SourceFolder(url("Sources")).files.first)
      try FileManager.default.removeItem(at: url("Sources"))
      let error = #expect(throws: SourceFolder.FileError.self) { try SourceFolder.apply(file) }
      #expect(error?.description.contains("A.swift cannot be written: ") == true && error?.cause != nil)
    }
  }
}
