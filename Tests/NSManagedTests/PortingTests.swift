import Foundation
import NSManagedGenerator
import Testing

enum Porting {
  /// The first file, ported in the presence of the others.
  static func port(_ sources: String..., keepsAttributes: Bool = false) throws -> PortedSource {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("porting-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for (number, source) in sources.enumerated() {
      try Data(source.utf8).write(to: folder.appendingPathComponent("File\(number).swift"))
    }
    return try #require(try SourceFolder(folder, keepsAttributes: keepsAttributes).files.first).ported
  }
}

/// What `strata port-core-data` makes of sources as Xcode's templates and common libraries have them.
@Suite("Porting Core Data sources")
struct PortingTests {
  @Test("Xcode's class files: attributes of Objective-C go, everything else stays as it is")
  func template() throws {
    let ported = try Porting.port(
      """
      //
      //  Event+CoreDataClass.swift
      //  This file was automatically generated: @objc(Event)
      import Foundation
      import CoreData

      @objc(Event)
      public class Event: NSManagedObject {

      }

      @objcMembers
      final class Tag : NSManagedObject {
        @objc dynamic var shown: String? { name }
        @objc public private(set) dynamic var count = 0
        @NSManaged @objc var name: String? // @objc
      }

      // MARK: Generated accessors for tags
      extension Event {

          @objc(addTagsObject:)
          @NSManaged public func addToTags(_ value: Tag)

          @objc(removeTags:) @NSManaged public func removeFromTags(_ values: NSSet)

      	@nonobjc public class func fetchRequest() -> NSFetchRequest<Event> {
              return NSFetchRequest<Event>(entityName: "Event")
          }
      }
      """)
    #expect(
      ported.text == """
        //
        //  Event+CoreDataClass.swift
        //  This file was automatically generated: @objc(Event)
        import Foundation
        import CoreData

        public class Event: NSManagedObject {

        }

        final class Tag : NSManagedObject {
          var shown: String? { name }
          public private(set) var count = 0
          @NSManaged var name: String? // @objc
        }

        // MARK: Generated accessors for tags
        extension Event {

            @NSManaged public func addToTags(_ value: Tag)

            @NSManaged public func removeFromTags(_ values: NSSet)

        	@nonobjc public class func fetchRequest() -> NSFetchRequest<Event> {
                return NSFetchRequest<Event>(entityName: "Event")
            }
        }
        """)
    #expect(ported.remarks.isEmpty && ported.edits.map(\.line).first == 7)
    // A second time there is nothing to do.
    let again = try Porting.port(ported.text)
    #expect(again.text == ported.text && again.edits.isEmpty)
  }

  @Test("On demand attributes stay for Apple's systems, and what is for those alone is left as it is")
  func keepsAttributes() throws {
    let ported = try Porting.port(
      """
      @objc(Event)
      public class Event: NSManagedObject {
        @objc var a: Int { 1 }
      #if canImport(ObjectiveC)
        @objc var b: Int { #keyPath(Event.a).count }
      #endif
      }
      """, keepsAttributes: true)
    #expect(
      ported.text == """
        #if canImport(ObjectiveC)
        @objc(Event)
        #endif
        public class Event: NSManagedObject {
          #if canImport(ObjectiveC)
          @objc
          #endif
          var a: Int { 1 }
        #if canImport(ObjectiveC)
          @objc var b: Int { #keyPath(Event.a).count }
        #endif
        }
        """)
    #expect(try Porting.port(ported.text, keepsAttributes: true).edits.isEmpty)
  }

  @Test("Key paths, selectors, casts of requests")
  func expressions() throws {
    let ported = try Porting.port(
      #"""
      let a = NSSortDescriptor(key: #keyPath(Event.tags), ascending: true)
      let b = [#keyPath(App.Event.author.name), #keyPath(title)]
      let c = NSSortDescriptor(key: "name", ascending: true, selector: #selector(NSString.localizedStandardCompare(_:)))
      let d = Event.fetchRequest() as! NSFetchRequest<NSFetchRequestResult>
      let e = "#keyPath(Event.tags) and \(1)" // #keyPath(Event.tags)
      let f = value as! NSFetchRequest<Event>
      """#)
    #expect(
      ported.text == #"""
        let a = NSSortDescriptor(key: "tags", ascending: true)
        let b = ["author.name", "title"]
        let c = NSSortDescriptor(key: "name", ascending: true, selector: Selector("localizedStandardCompare:"))
        let d = Event.fetchRequest() as NSFetchRequest<NSFetchRequestResult>
        let e = "#keyPath(Event.tags) and \(1)" // #keyPath(Event.tags)
        let f = value as! NSFetchRequest<Event>
        """#)
  }

  @Test("Observers by selectors become closures; the method may be declared in another file")
  func observers() throws {
    let ported = try Porting.port(
      """
      final class Stack: NSObject {
        func start() {
          NotificationCenter.default.addObserver(
            self, selector: #selector(Stack.saved(_:)), name: .NSManagedObjectContextDidSave, object: context)
          center.addObserver(self, selector: #selector(self.told(note:)), name: names[0], object: nil)
          center.addObserver(self, selector: #selector(ended), name: nil, object: nil)
          center.addObserver(self, selector: #selector(began), name: nil, object: nil)
          button.addTarget(self, action: #selector(began), for: .touchUpInside)
        }
        @objc private func saved(_ note: Notification) {}
        @objc func told(note: Notification) {}
        @objc func ended() {}
      }
      """, "extension Stack { @objc func began(_ notification: Notification) {} }")
    #expect(
      ported.text == """
        final class Stack: NSObject {
          func start() {
            NotificationCenter.default.addObserver(
              self, name: .NSManagedObjectContextDidSave, object: context) { $0.saved($1) }
            center.addObserver(self, name: names[0], object: nil) { $0.told(note: $1) }
            center.addObserver(self, name: nil, object: nil) { observer, _ in observer.ended() }
            center.addObserver(self, name: nil, object: nil) { $0.began($1) }
            button.addTarget(self, action: #selector(began), for: .touchUpInside)
          }
          private func saved(_ note: Notification) {}
          func told(note: Notification) {}
          func ended() {}
        }
        """)
    #expect(ported.remarks.map(\.line) == [8] && ported.remarks[0].message.contains("#selector(began)"))
  }

  @Test("Designated initialisers of managed object classes become convenience initialisers")
  func initialisers() throws {
    let ported = try Porting.port(
      """
      class Event: Base {
        public init(title: String, context: NSManagedObjectContext) {
          super.init(entity: Event.entity(), insertInto: context)
          self.title = title
        }
        override init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
          super.init(entity: entity, insertInto: context)
        }
        convenience init(context: NSManagedObjectContext, n: Int) { self.init(title: "\\(n)", context: context) }
      }
      class Plain { init(entity: Int) { print(Event.init) } }
      """, "class Base: NSManagedObject {}")
    #expect(
      ported.text.contains(
        "public convenience init(title: String, context: NSManagedObjectContext) {\n    self.init(entity: Event.entity()"
      ))
    #expect(
      ported.text.contains(
        "override init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {\n    super.init"
      ))
    #expect(ported.text.contains("class Plain { init(entity: Int)") && ported.edits.count == 2)
  }

  @Test("What only the author can change is told with its line")
  func remarks() throws {
    let ported = try Porting.port(
      #"""
      import UIKit
      import Combine
      @UIApplicationMain
      class App: UIResponder {
        @FetchRequest(entity: Event.entity()) var events
        func f() {
          token = event.observe(\.title) { _, _ in }
          event.addObserver(self, forKeyPath: "title", options: [], context: nil)
          NotificationCenter.default.publisher(for: .init("x")).sink { _ in }
          scroll.publisher(for: \.title).sink { _ in }
          let c = NSPersistentCloudKitContainer(name: "x")
        }
      }
      @objc protocol P { @objc optional func g() }
      extension Event { override func willSave() {} }
      """#)
    #expect(
      ported.text.hasPrefix(
        "#if canImport(UIKit)\nimport UIKit\n#endif\n#if canImport(Combine)\nimport Combine\n#elseif canImport(CoreDataCombine)\n"
          + "import CoreDataCombine\n#endif\n@UI"))
    #expect(Set(ported.remarks.map(\.line)) == [1, 2, 3, 5, 7, 8, 11, 14, 15])
    #expect(ported.remarks.first { $0.line == 2 }?.message.contains("CoreDataCombine") == true)
    #expect(ported.text.contains("protocol P { optional func g() }"))
  }

  @Test("Files are written only as they were read; other bytes, line ends and permissions stay")
  func files() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("porting-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder.appendingPathComponent("Pods"), withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    func write(_ bytes: [UInt8], _ name: String) throws -> URL {
      let url = folder.appendingPathComponent(name)
      try Data(bytes).write(to: url)
      return url
    }
    let source = try write(
      Array("\u{FEFF}@objc(A)\r\nclass A: NSManagedObject { /* 😀 */ @objc\tvar b: Int { 1 } }\r\n".utf8),
      "A.swift")
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: source.path)
    _ = try write(Array("@objc(P) class P {}".utf8), "Pods/P.swift")
    _ = try write([0xFF, 0xFE, 0x00], "Latin.swift")
    _ = try write(Array("@objc".utf8), "Package.swift")
    let read = try SourceFolder(folder)
    #expect(
      read.files.map(\.url.lastPathComponent) == ["A.swift"]
        && read.unreadable.map(\.lastPathComponent) == ["Latin.swift"])
    let before = try Data(contentsOf: source)
    #expect(read.files[0].original == before && read.files[0].isChanged)
    try SourceFolder.apply(read.files[0])
    #expect(
      try String(decoding: Data(contentsOf: source), as: UTF8.self)
        == "\u{FEFF}class A: NSManagedObject { /* 😀 */ var b: Int { 1 } }\r\n")
    let permissions =
      try FileManager.default.attributesOfItem(atPath: source.path)[.posixPermissions] as? NSNumber
    #expect(permissions?.intValue == 0o640)
    // It is another one by now.
    #expect(throws: (any Error).self) { try SourceFolder.apply(read.files[0]) }
    #expect(throws: (any Error).self) { try SourceFolder(folder.appendingPathComponent("None")) }
  }

  @Test("Damaged and unfinished sources are passed over without harm")
  func damaged() throws {
    for source in [
      "@", "@objc(", "#keyPath(", "#selector(NSString.", "addObserver(self, selector: #selector(", "as!",
      "init", "class A: NSManagedObject { init(", "import", "{}}}", "\"\\(#keyPath(",
      "\"\\(\"\\(", "\"\"\"\n\\(a // )", ") as! NSFetchRequest<A>", "a> as! NSFetchRequest<A>",
      ".a as! NSFetchRequest<A>",
      "as! NSFetchRequest<", "] as CVarArg", "var a = 1, b", ";", "FileProtectionType.a as",
    ] {
      let ported = try Porting.port(source).text
      #expect(ported == source || source.hasPrefix("@objc"))
    }
  }

  @Test("The ported sample is what the command makes of the original, with nothing left that its build needs")
  func sample() throws {
    let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let original = tests.appendingPathComponent("PortingSample/Original")
    let folder = try SourceFolder(original)
    #expect(folder.files.count >= 15 && folder.files.allSatisfy(\.isChanged) == false)
    for file in folder.files {
      let path = String(file.url.path.dropFirst(original.path.count))
      let ported = tests.appendingPathComponent("PortingSample/Swift5" + path)
      #expect(
        try String(contentsOf: ported, encoding: .utf8) == file.ported.text,
        "\(path): see Scripts/port-sample")
    }
    // Imports that became conditional are all that is said of it.
    #expect(folder.files.flatMap(\.ported.remarks).count == 4)
    // What the sample is meant to be: a library of three thousand lines.
    let lines = folder.files.map { String(decoding: $0.original, as: UTF8.self).split(separator: "\n").count }
    #expect(lines.reduce(0, +) >= 2_700)
  }
}
