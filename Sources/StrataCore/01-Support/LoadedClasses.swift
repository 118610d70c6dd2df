import Foundation
import Synchronization

/// The classes of this process by their names without a module: which modules have one of that name.
///
/// Elsewhere than on Apple's systems a class has no name without its module, but models speak of classes without saying theirs. So this
/// looks through what the Swift runtime knows of the types of every loaded image. May be used from any thread.
enum LoadedClasses {
  private struct Index {
    var images = -1
    var modules: [String: [String]] = [:]
  }
  private static let index = Mutex(Index())

  /// The modules that have a class of that name at their top level, sorted. Reads all types once, and again when more images are loaded.
  static func modules(declaring name: String) -> [String] {
    #if canImport(ObjectiveC)
      return []
    #else
      return index.withLock { index in
        let sections = TypeSection.all()
        if index.images != sections.count {
          index = Index(images: sections.count)
          for section in sections {
            section.forEachClass { index.modules[$1, default: []].append($0) }
          }
        }
        return Set(index.modules[name] ?? []).sorted()
      }
    #endif
  }
}

#if !canImport(ObjectiveC)
  /// The types of one image, as the compiler has recorded them and the runtime has registered them.
  ///
  /// The record of a type is four bytes: how far its descriptor is from there, and in the lowest bits whether by a detour. A descriptor:
  ///
  /// | offset | what |
  /// |---|---|
  /// | 0 | flags: in the lowest five bits 16 for a class, 0 for a module; bit 7 for generic |
  /// | 4 | distance to what is around it; bit 0 for by a detour |
  /// | 8 | distance to its name |
  private struct TypeSection {
    private let start: UnsafeRawPointer
    private let count: Int

    // Unsafe: the layouts are part of the stable ABI, and images stay where they are.

    /// What the runtime keeps for an image; its head only.
    private struct Sections {
      let version: UInt
      let base, next, previous: UInt
      let protocolsStart, protocolsLength, conformancesStart, conformancesLength: UInt
      let typesStart, typesLength: UInt
    }

    static func all() -> [TypeSection] {
      var result: [TypeSection] = []
      withUnsafeMutablePointer(to: &result) { result in
        enumerateMetadataSections(
          { sections, result in
            let sections = sections.load(as: Sections.self)
            if sections.version >= 3, let start = UnsafeRawPointer(bitPattern: sections.typesStart) {
              result?.assumingMemoryBound(to: [TypeSection].self).pointee.append(
                TypeSection(start: start, count: Int(sections.typesLength) / 4))
            }
            return true
          }, result)
      }
      return result
    }

    /// Calls `body` with module and name of each class that is in nothing else and not generic.
    func forEachClass(_ body: (String, String) -> Void) {
      for number in 0..<count {
        let record = start + number * 4
        let distance = record.load(as: Int32.self)
        guard distance & 3 <= 1 else { continue }
        var type = record + Int(distance & ~3)
        if distance & 1 != 0 { type = type.load(as: UnsafeRawPointer.self) }
        let flags = type.load(as: UInt32.self)
        guard flags & 0x1F == 16, flags & 0x80 == 0 else { continue }
        let parent = Self.follow(type + 4)
        if parent.load(as: UInt32.self) & 0x1F == 0 { body(Self.name(parent), Self.name(type)) }
      }
    }

    private static func follow(_ place: UnsafeRawPointer) -> UnsafeRawPointer {
      let distance = place.load(as: Int32.self)
      let target = place + Int(distance & ~1)
      return distance & 1 != 0 ? target.load(as: UnsafeRawPointer.self) : target
    }

    private static func name(_ descriptor: UnsafeRawPointer) -> String {
      let place = descriptor + 8
      return String(cString: (place + Int(place.load(as: Int32.self))).assumingMemoryBound(to: CChar.self))
    }
  }

  /// The runtime's own function: calls its argument for each image.
  @_silgen_name("swift_enumerateAllMetadataSections")
  private func enumerateMetadataSections(
    _ body: @convention(c) (UnsafeRawPointer, UnsafeMutableRawPointer?) -> Bool,
    _ context: UnsafeMutableRawPointer?)
#endif
