#if os(Linux) && canImport(Runtime) && (arch(x86_64) || arch(arm64))
  import Foundation
  import Runtime

  /// The files that the loader has mapped as code, by the loader's own table.
  ///
  /// `ImageMap.capture` is not asked: it looks into every file that is mapped, and ends the process when another thread closes a store just then.
  struct LoadedImages {
    struct Image: Equatable {
      var path: String
      var base: UInt
      var endOfText: UInt
    }

    /// In the order of their addresses.
    private(set) var images: [Image] = []

    /// Those that are loaded now. What has no file, such as the kernel's own, is left out.
    init() {
      let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      withUnsafeMutablePointer(to: &images) { images in
        _ = iterateHeaders(
          { info, _, images in
            // The loader keeps its table locked meanwhile: what it names stays mapped.
            if let info, let image = Image(info) {
              images?.assumingMemoryBound(to: [Image].self).pointee.append(image)
            }
            return 0
          }, images)
      }
      if let program, let place = images.firstIndex(where: \.path.isEmpty) { images[place].path = program }
      images.removeAll { !$0.path.hasPrefix("/") }
      images.sort { $0.base < $1.base }
    }

    /// The same as the module has it, which reads one that was encoded: it offers no other way to make one. Nil when it reads something else.
    func map() -> ImageMap? {
      guard let text = try? JSONEncoder().encode(encoded.base64EncodedString().filter { $0 != "=" }),
        let map = try? JSONDecoder().decode(ImageMap.self, from: text),
        map.elementsEqual(
          images,
          by: {
            $0.path == $1.path && $0.baseAddress == Backtrace.Address(UInt64($1.base))
              && $0.endOfText == Backtrace.Address(UInt64($1.endOfText))
          })
      else { return nil }
      return map
    }

    /// In the toolchain's “Compact ImageMap Format”: words of 64 bits, the platform, how many images, and each with its addresses and path.
    private var encoded: Data {
      var bytes: [UInt8] = [0x02]
      let platform = "Linux"
      Self.append(platform.utf8.count, to: &bytes)
      bytes += platform.utf8
      Self.append(images.count, to: &bytes)
      for image in images {
        bytes.append(0x3F)  // Two addresses of eight bytes each.
        withUnsafeBytes(of: image.base.bigEndian) { bytes += $0 }
        withUnsafeBytes(of: (image.endOfText - image.base).bigEndian) { bytes += $0 }
        bytes.append(0)  // No build ID: files are found by their paths.
        Self.append(image.path, to: &bytes)
      }
      return Data(bytes)
    }

    /// Seven bits in a byte, the highest first.
    private static func append(_ count: Int, to bytes: inout [UInt8]) {
      var shift = 56
      while shift > 0, count >> shift == 0 { shift -= 7 }
      while shift > 0 {
        bytes.append(UInt8(truncatingIfNeeded: count >> shift) | 0x80)
        shift -= 7
      }
      bytes.append(UInt8(truncatingIfNeeded: count) & 0x7F)
    }

    /// Pieces of at most 63 bytes, and an end.
    private static func append(_ text: String, to bytes: inout [UInt8]) {
      var rest = Array(text.utf8)[...]
      while !rest.isEmpty {
        let piece = rest.prefix(63)
        bytes.append(UInt8(piece.count))
        bytes += piece
        rest = rest.dropFirst(63)
      }
      bytes.append(0)
    }
  }

  extension LoadedImages.Image {
    /// What one entry of the loader's table says (`dl_phdr_info` of 64 bits); nil for what holds no code. The program itself has an empty path.
    fileprivate init?(_ info: UnsafeRawPointer) {
      let bias = info.load(as: UInt.self)
      guard let name = info.load(fromByteOffset: 8, as: UnsafePointer<CChar>?.self),
        let headers = info.load(fromByteOffset: 16, as: UnsafeRawPointer?.self)
      else { return nil }
      var (start, end) = (UInt.max, UInt(0))
      for number in 0..<Int(info.load(fromByteOffset: 24, as: UInt16.self)) {
        let header = headers + number * 56
        let (type, flags) = (header.load(as: UInt32.self), header.load(fromByteOffset: 4, as: UInt32.self))
        let address = header.load(fromByteOffset: 16, as: UInt.self) &+ bias
        let size = header.load(fromByteOffset: 40, as: UInt.self)
        if type == 1 {  // PT_LOAD
          start = min(start, address)
          if flags & 1 != 0 { end = max(end, address &+ size) }
        }
      }
      guard start < end else { return nil }
      self.init(path: String(cString: name), base: start, endOfText: end)
    }
  }

  /// The loader's own, which no module declares.
  @_silgen_name("dl_iterate_phdr")
  private func iterateHeaders(
    _ body: @convention(c) (UnsafeRawPointer?, Int, UnsafeMutableRawPointer?) -> CInt,
    _ data: UnsafeMutableRawPointer?
  ) -> CInt
#endif
