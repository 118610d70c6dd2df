import CoreData
import Foundation
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

@Suite("What is wrong with a file, by Foundation's codes")
struct FileErrorTests {
  let folder: URL

  init() throws { folder = try Journal.makeFolder() }

  private func error(_ options: [AnyHashable: Any]? = nil, at path: String) -> NSError? {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Journal.makeModel())
    do {
      let store = try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: folder.appendingPathComponent(path),
        options: options)
      try coordinator.remove(store)
      return nil
    } catch let error as NSError { return error }
  }

  @Test("A file that is no store: 259, with its path and the underlying error; it stays as it is")
  func corrupt() throws {
    let file = folder.appendingPathComponent("text.sqlite")
    let text = Data(String(repeating: "This is no store. ", count: 1000).utf8)
    try text.write(to: file)
    let error = try #require(self.error(at: "text.sqlite"))
    #expect(error.domain == NSCocoaErrorDomain && error.code == NSFileReadCorruptFileError)
    #expect((error.userInfo[NSFilePathErrorKey] as? String)?.hasSuffix("text.sqlite") == true)
    #expect(
      error.userInfo[NSUnderlyingErrorKey] is NSError && error.localizedDescription.contains("text.sqlite"))
    #expect(try Data(contentsOf: file) == text)
  }

  @Test("A store whose end is missing, or whose first page is overwritten: 259")
  func damaged() throws {
    #expect(error(at: "a.sqlite") == nil)
    let file = folder.appendingPathComponent("a.sqlite")
    var bytes = try Data(contentsOf: file)
    try bytes.prefix(bytes.count / 2).write(to: folder.appendingPathComponent("short.sqlite"))
    bytes.replaceSubrange(0..<8192, with: Data(count: 8192))
    try bytes.write(to: folder.appendingPathComponent("zeros.sqlite"))
    #expect(error(at: "short.sqlite")?.code == NSFileReadCorruptFileError)
    #expect(error(at: "zeros.sqlite")?.code == NSFileReadCorruptFileError)
  }

  @Test("A missing file that may not be made: 260, a missing folder: 512, a folder: 256")
  func missing() throws {
    #expect(
      error([NSReadOnlyPersistentStoreOption: true], at: "none.sqlite")?.code == NSFileReadNoSuchFileError)
    #expect(error(at: "none/a.sqlite")?.code == NSFileWriteUnknownError)
    try FileManager.default.createDirectory(
      at: folder.appendingPathComponent("folder.sqlite"), withIntermediateDirectories: false)
    #expect(error(at: "folder.sqlite")?.code == NSFileReadUnknownError)
    do {
      _ = try NSPersistentStoreCoordinator.metadataForPersistentStore(
        ofType: NSSQLiteStoreType, at: folder.appendingPathComponent("none.sqlite"))
      Issue.record("found")
    } catch CocoaError.fileReadNoSuchFile {
    } catch { Issue.record(error) }
  }

  @Test("A name that leaves no room for that of the lock file: 514, with the limit; nothing is left behind")
  func tooLong() throws {
    // File systems take 255 bytes, and the lock file has five more.
    let name = { (count: Int) in
      String(repeating: "ä", count: 100) + String(repeating: "b", count: count - 200)
    }
    for count in [251, 254, 255, 256, 400] {
      let error = try #require(self.error(at: name(count)))
      #expect(error.domain == NSCocoaErrorDomain && error.code == NSFileWriteInvalidFileNameError, "\(count)")
      #expect(error.localizedDescription.contains("\(count) bytes and may take 250"), "\(count)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    #expect(error(at: name(250)) == nil)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path).contains { $0.utf8.count == 250 })
    // Nor is a file that is there made a store, or removed.
    let file = folder.appendingPathComponent(name(255))
    try Data("text".utf8).write(to: file)
    #expect(error(at: name(255))?.code == NSFileWriteInvalidFileNameError)
    #expect(try Data(contentsOf: file) == Data("text".utf8))
  }

  @Test(
    "Without permission: 257 to read, 513 to make a file",
    .enabled(if: geteuid() != 0, "root may do everything"))
  func permission() throws {
    #expect(error(at: "a.sqlite") == nil)
    let manager = FileManager.default
    try manager.setAttributes([.posixPermissions: 0], ofItemAtPath: folder.path + "/a.sqlite")
    #expect(error(at: "a.sqlite")?.code == NSFileReadNoPermissionError)
    try manager.setAttributes([.posixPermissions: 0o500], ofItemAtPath: folder.path)
    #expect(error(at: "new.sqlite")?.code == NSFileWriteNoPermissionError)
    try manager.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder.path)
  }

  @Test("A container hands the error to loadPersistentStores")
  func container() throws {
    try Data("no store".utf8).write(to: folder.appendingPathComponent("c.sqlite"))
    let container = NSPersistentContainer(name: "c", managedObjectModel: Journal.makeModel())
    container.persistentStoreDescriptions = [
      NSPersistentStoreDescription(url: folder.appendingPathComponent("c.sqlite"))
    ]
    var code: Int?
    container.loadPersistentStores { _, error in code = (error as NSError?)?.code }
    #expect(code == NSFileReadCorruptFileError)
  }
}
