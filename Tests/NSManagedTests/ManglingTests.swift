import Foundation
import NSManagedGenerator
import Testing

/// The symbols of the generated file, held against those the compiler gives the same classes with computed properties.
@Suite("Symbols of accessors")
struct ManglingTests {
  /// Modules, classes and types of every kind, in names that repeat words, other names and each other.
  private static let source = """
    import Foundation
    public class NSManagedObject: NSObject {}
    public enum Kind: Int16 { case a }
    public struct Color { public struct Shade { public enum Tone: Int { case x } } }
    public protocol Tinted {}
    public typealias Tags = [String]
    public typealias Tone = Color.Shade.Tone
    public class Photo: NSManagedObject {}
    public class PhotoAlbumPhoto: Photo {
      public class Page: NSManagedObject {
        @NSManaged public var album: PhotoAlbumPhoto
        @NSManaged public var page: Page?
        @NSManaged public var kind: Kind
      }
      public enum Kind: String { case x }
      @NSManaged public var b: Bool, d: Double, f: Float, s: String
      @NSManaged public var int: Int
      @NSManaged public var i16: Int16
      @NSManaged public var i8: Int8?
      @NSManaged public var u64: UInt64
      @NSManaged public var so: String?
      @NSManaged public var date: Date?
      @NSManaged public var createdAtDate: Date
      @NSManaged public var dateDateDate: Foundation.Date!
      @NSManaged public var data: Data
      @NSManaged public var uuid: UUID?
      @NSManaged public var url: URL?
      @NSManaged public var decimal: Decimal?
      @NSManaged public var seconds: TimeInterval
      @NSManaged public var num: NSNumber?
      @NSManaged public var dnum: NSDecimalNumber?
      @NSManaged public var set: NSSet?
      @NSManaged public var oset: NSOrderedSet?
      @NSManaged public var photo: Photo?
      @NSManaged public var photos: Set<Photo>
      @NSManaged public var photoAlbumPhotos: Set<PhotoAlbumPhoto>?
      @NSManaged public var arr: [String]?
      @NSManaged public var tags: Tags
      @NSManaged public var dict: [String: Any]?
      @NSManaged public var nested: [String: [String: Int]]
      @NSManaged public var pairs: Dictionary<String, Array<Optional<Int>>>
      @NSManaged public var any: Any?
      @NSManaged public var object: AnyObject?
      @NSManaged public var coding: NSCoding?
      @NSManaged public var both: (NSCoding & NSObjectProtocol)?
      @NSManaged public var tinted: any Tinted
      @NSManaged public var hash1: AnyHashable?
      @NSManaged public var plain: NSObject?
      @NSManaged public var kind: Kind
      @NSManaged public var outerKind: M.Kind
      @NSManaged public var tone: Color.Shade.Tone
      @NSManaged public var shade: Color.Shade?
      @NSManaged public var otherTone: Tone
      @NSManaged public var PhotoAlbumPhoto: Photo?
      @NSManaged public var größe: Int64
      @NSManaged public var 名前: String?
      @NSManaged public var `default`: Int32
      @NSManaged public var snake_case_name: String?
      @NSManaged public var URLOfPage2: String?
      @NSManaged public var component: Calendar.Component
      @NSManaged public var range: NSRange
      @NSManaged public var size: CGSize
      @NSManaged public var width: CGFloat
      @NSManaged public var index: IndexPath?
      @NSManaged public var locale: Locale?
      @NSManaged public var failure: Error?
      @NSManaged public var interval: ClosedRange<Date>?
      @NSManaged private var secret: String?
      @NSManaged fileprivate var twice: [Photo: Photo]?
      @NSManaged public private(set) var counted: Int32
    }
    extension PhotoAlbumPhoto {
      @NSManaged public func addToPhotos(_ value: Photo)
      @NSManaged public func addToPhotos(_ values: NSSet)
      @NSManaged public func removeFromPhotos(_ values: Set<Photo>)
      @NSManaged public func insertIntoPhotos(_ value: Photo, at idx: Int)
      @NSManaged public func insertIntoPhotos(_ values: [Photo], at indexes: NSIndexSet)
      @NSManaged public func removeFromPhotos(at idx: Int)
      @NSManaged public func removeFromPhotos(at indexes: NSIndexSet)
      @NSManaged public func replacePhotos(at idx: Int, with value: Photo)
      @NSManaged public func replacePhotos(at indexes: NSIndexSet, with values: [Photo])
    }
    private class Hidden: NSManagedObject {
      @NSManaged var word: String?
      @NSManaged var other: Photo?
    }
    """

  /// The same with bodies, so that the compiler itself defines the symbols.
  private static var reference: String {
    source.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      guard let start = line.range(of: "@NSManaged ") else { return String(line) }
      let rest = line[start.upperBound...]
      let indent = line[..<start.lowerBound]
      if rest.contains("func") { return indent + rest + " {}" }
      let body = " { get { fatalError() } set {} }"
      guard rest.contains(", d: ") else { return indent + rest + body }
      return
        "public var b: Bool\(body); public var d: Double\(body); public var f: Float\(body); public var s: String\(body)"
    }.joined(separator: "\n")
  }

  private func run(_ tool: String, _ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [tool] + arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(tool) \(arguments)")
    return String(decoding: data, as: UTF8.self)
  }

  @Test("Every symbol is the compiler's")
  func symbolsOfTheCompiler() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "mangling-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("Photos.swift")
    let output = folder.appendingPathComponent("out.swift")
    // The class that all managed ones have is declared here, so that one file compiles alone.
    try Data(Self.source.utf8).write(to: file)
    let order = try GeneratorOrder(arguments: [
      "--module", "M", "--output", output.path, "--source", file.path,
    ])
    #expect(try order.carryOut() == [])
    let generated = try String(contentsOf: output, encoding: .utf8)
    let symbols = Set(generated.matches(of: /@_silgen_name\("([^"]+)"\)/).map { String($0.output.1) })
    #expect(symbols.count > 130)
    try Data(Self.reference.utf8).write(to: file)
    let object = folder.appendingPathComponent("Photos.o").path
    _ = try run(
      "swiftc", ["-c", "-Onone", "-parse-as-library", "-module-name", "M", file.path, "-o", object])
    let defined = Set(
      try run("nm", [object]).split(separator: "\n").compactMap {
        $0.split(separator: " ").last.map(String.init)
      })
    let wrong = symbols.subtracting(defined).sorted()
    #expect(wrong == [])
  }
}
